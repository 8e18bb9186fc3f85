"""What a reference to a decision names, and what becomes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.asked import asked_for, asked_of_policy
from app.domain.decision_refs import AsNumber, AsObject, Elsewhere, meaning_of, resolved, to_look_up
from app.domain.policy import Policy, ProjectPolicy, ReleasePolicy
from app.domain.surroundings import MOST_DECISIONS, NOTHING_MORE, Asked
from tests.domain.recovery_scene import BASE, HEAD, OTHER, changed, noted

REPO = "octo/demo"
WEB = f"https://github.com/{REPO}"

MEANINGS: list[tuple[str, object]] = [
    ("docs/adr/004.md", AsObject(f"{HEAD}:docs/adr/004.md")),
    ("./docs/adr/004.md#why", AsObject(f"{HEAD}:docs/adr/004.md")),
    ("docs/adr/", AsObject(f"{HEAD}:docs/adr")),
    ("docs/adr/004.md:12", AsObject(f"{HEAD}:docs/adr/004.md")),
    ("docs/adr/004.md:12-40", AsObject(f"{HEAD}:docs/adr/004.md")),
    (f"{OTHER}:docs/a:1b.md", AsObject(f"{OTHER}:docs/a:1b.md")),
    (f"{WEB}/tree/{OTHER}/docs/", AsObject(f"{OTHER}:docs")),
    ("/", Elsewhere()),
    ("AGENTS.md", AsObject(f"{HEAD}:AGENTS.md")),
    (f"docs/a b.md@{OTHER}", Elsewhere()),
    (f"docs/a.md@{OTHER}", AsObject(f"{OTHER}:docs/a.md")),
    (f"{OTHER}:docs/a.md", AsObject(f"{OTHER}:docs/a.md")),
    (OTHER, AsObject(OTHER)),
    ("#12", AsNumber(12)),
    ("octo/demo#12", AsNumber(12)),
    ("octo/other#12", Elsewhere()),
    (f"{WEB}/blob/{OTHER}/docs/a.md#L3", AsObject(f"{OTHER}:docs/a.md")),
    (f"{WEB}/commit/{OTHER}", AsObject(OTHER)),
    (f"{WEB}/pull/9", AsNumber(9)),
    (f"{WEB}/blob/main/docs/a.md", Elsewhere()),
    (f"https://github.com/octo/other/blob/{OTHER}/docs/a.md", Elsewhere()),
    ("https://wiki.example.com/decisions/4", Elsewhere()),
    ("we agreed on tables", Elsewhere()),
    ("Wanda", Elsewhere()),
    ("../secret.md", Elsewhere()),
    ("docs//a.md", Elsewhere()),
    ("/etc/passwd", Elsewhere()),
    ("--upload-pack=x.y", Elsewhere()),
    ("docs/\u0000.md", Elsewhere()),
    ("x" * 600 + ".md", Elsewhere()),
    ("", Elsewhere()),
]


@pytest.mark.parametrize(("ref", "meaning"), MEANINGS, ids=[repr(m[0][:40]) for m in MEANINGS])
def test_meanings(ref: str, meaning: object) -> None:
    assert meaning_of(ref, REPO, HEAD) == meaning


def test_a_bare_path_needs_a_commit() -> None:
    assert meaning_of("docs/a.md", REPO, None) == Elsewhere()
    assert meaning_of(f"docs/a.md@{OTHER}", REPO, None) == AsObject(f"{OTHER}:docs/a.md")


def test_one_look_resolves_so_many_and_says_of_the_rest_that_it_did_not() -> None:
    refs = [f"docs/{n}.md" for n in range(MOST_DECISIONS + 2)]
    objects, numbers = to_look_up([*refs, "#1"], REPO, HEAD)
    assert (len(objects), numbers) == (MOST_DECISIONS, ())
    states = [d.state for d in resolved(refs, REPO, HEAD, dict.fromkeys(objects, "5" * 40), {})]
    assert states == ["found"] * MOST_DECISIONS + ["not looked up"] * 2


@given(st.text(max_size=80))
def test_whatever_is_written_is_harmless(ref: str) -> None:
    meaning = meaning_of(ref, REPO, HEAD)
    if isinstance(meaning, AsObject):
        assert meaning.expression[:40].isalnum()
        assert ".." not in meaning.expression.partition(":")[2].split("/")


def test_what_a_look_asks_for_follows_record_and_policy() -> None:
    policy = Policy(release=ReleasePolicy(into="main"), project=ProjectPolicy(number=7))
    assert asked_of_policy(None) == NOTHING_MORE
    assert asked_of_policy(policy) == Asked(into="main", project=True)
    record = noted(decision_refs=("docs/a.md", "#3"), predecessor_issue_or_pr=41, predecessor_sha=OTHER)
    assert asked_for(record, REPO, asked_of_policy(policy)) == Asked(
        into="main",
        project=True,
        work=HEAD,
        predecessor=41,
        predecessor_sha=OTHER,
        objects=(f"{HEAD}:docs/a.md",),
        numbers=(3,),
    )
    assert asked_for(changed(published=None), REPO, NOTHING_MORE).work == BASE
    assert asked_for(noted(predecessor_sha=OTHER), REPO, NOTHING_MORE).predecessor_sha is None
