import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.plain_text import clean, cut, one_line, shorten

CASES = {
    case["name"]: case
    for case in json.loads((Path(__file__).parents[1] / "fixtures/long_text.json").read_text())["input"]["cases"]
}


def generated(name: str) -> str:
    how = CASES[name]["generate"]
    return str(how["unit"] * how["count"] + how.get("then", ""))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "generate" in case])
def test_b27_long_texts_are_cut_at_whole_characters(name: str) -> None:
    text = generated(name)
    for limit in (65_536, 65_535, 65_534, 65_533, 1000):
        result, was_cut = shorten(text, limit)
        assert len(result.encode()) <= limit
        assert was_cut == (len(text.encode()) > limit)
        assert result.endswith("…") == was_cut


def test_b27_no_half_emoji_and_no_dangling_joiner() -> None:
    family = generated("zwj_family_on_the_cut")
    start = family.index("👩")
    for limit in range(start, len(family.encode())):
        part = cut(family, limit)
        assert part == family[:start] or part.startswith(family[: start + 7])
        assert not part.endswith("\u200d")


def test_b27_a_lone_surrogate_crashes_nothing() -> None:
    text = json.loads(CASES["lone_surrogate_in_payload"]["json_text"])["body"]
    assert clean(text) == "\ufffd"
    assert shorten(text, 10)[0].encode("utf-8", "replace")


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("ae\u0301", 2, "a"),
        ("ae\u0301", 3, "a"),
        ("a👍🏽", 5, "a"),
        ("1️⃣2", 4, ""),
        ("🇩🇪🇫🇷", 12, "🇩🇪"),
        ("🇩🇪🇫🇷", 8, "🇩🇪"),
        ("🇩🇪🇫🇷", 7, ""),
        ("修正", 5, "修"),
        ("a\r\nb", 2, "a"),
    ],
)
def test_cut(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


@given(st.text(), st.integers(-3, 60))
def test_a_cut_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    part = cut(text, limit)
    assert text.startswith(part)
    assert len(part.encode("utf-8", "replace")) <= max(limit, 0)


@given(st.text(st.characters()))
def test_clean_text_is_stable_and_encodes(text: str) -> None:
    result = clean(text)
    assert clean(result) == result
    assert result.encode().decode() == result
    assert not set(result) & set(map(chr, [*range(9), *range(11, 32), 127, 0x200B, 0x202E, 0x2066, 0xFEFF]))
    assert "\n" not in one_line(text)
