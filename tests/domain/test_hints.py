"""Hints in a checkpoint: opaque identifiers, no links, one of each kind."""

import pytest

from app.domain.admission import Admitted, admit
from app.domain.hints import NotAHint, hint_of, hints_in, with_hints


@pytest.mark.parametrize(
    "text",
    [
        "container-snapshot=ghcr.io/acme/box@sha256:" + "a1" * 32,
        "filesystem-snapshot=snap-0af31c",
        "native-session=claude:0f3c2a7e-11d2-4c52-9d0c-2f5a7f3d9e10",
    ],
)
def test_a_hint_comes_through_admission_as_it_is(text: str) -> None:
    entry = hint_of(text)
    admitted = admit({"artifact_refs": [entry]})
    assert isinstance(admitted, Admitted)
    assert admitted.checkpoint.artifact_refs == (entry,)
    assert hints_in(admitted.checkpoint.artifact_refs) == (text.replace("=", ":", 1),)


@pytest.mark.parametrize(
    "text",
    [
        "native-session=https://agent.example.invalid/session/0f3c",
        "native-session=www.example.com/0f3c",
        "native-session=see https://agent.example.invalid/s",
        "native-session=",
        "native-session",
        "conversation=0f3c",
        "native-session=two words",
        "native-session=../../etc/passwd",
        "native-session=" + "x" * 201,
        "native-session=session_01AbCdEfGhIjKlMnOpQr",
        "container-snapshot=gh" + "p_" + "A" * 36,
    ],
)
def test_a_link_or_anything_but_an_identifier_is_refused(text: str) -> None:
    with pytest.raises(NotAHint):
        hint_of(text)


def test_the_latest_of_each_kind_stands_and_other_references_stay() -> None:
    before = ("dist/report.html", "hint:native-session:one", "hint:container-snapshot:c1", "hint:other:x")
    after = with_hints(before, ("hint:native-session:two",))
    assert after == ("dist/report.html", "hint:container-snapshot:c1", "hint:other:x", "hint:native-session:two")
    assert hints_in(after) == ("container-snapshot:c1", "native-session:two")
