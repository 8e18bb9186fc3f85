import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.plain_text import clean, cut, one_line, shorten

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures/long_text.json").read_text())
CASES = {case["name"]: case for case in FIXTURE["input"]["cases"]}
EXPECTED: dict[str, dict[str, Any]] = FIXTURE["expected"]["cases"]
LIMIT = 65_536


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


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", ["too_long", "at_limit", "one_over", "emoji_on_the_cut", "zwj_family_on_the_cut"])
def test_b27_what_is_left_fits_and_says_that_it_was_shortened(name: str) -> None:
    expected = EXPECTED[name]
    result, was_cut = shorten(generated(name), LIMIT)
    assert len(result) <= expected.get("max_len", LIMIT)
    assert was_cut is expected.get("shortened", True)
    assert result.endswith("…") is expected.get("says_shortened", was_cut)
    # A lone half of a pair could not be encoded.
    assert bool(result.encode("utf-16-le")) is expected.get("well_formed_utf16", True)
    assert utf16_units(result) <= expected.get("max_utf16_units", LIMIT)
    assert ("\u200d…" not in result) is expected.get("no_dangling_zwj", True)


def test_b27_bytes_are_counted_where_readers_disagree_about_characters() -> None:
    text, expected = generated("cjk"), EXPECTED["cjk"]
    assert (len(text), len(text.encode())) == (expected["chars"], expected["utf8_bytes"])
    result, was_cut = shorten(text, LIMIT)
    assert was_cut
    assert len(result.encode()) <= LIMIT


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
    assert EXPECTED["lone_surrogate_in_payload"]["crash"] is False
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
