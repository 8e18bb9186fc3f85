"""Keys: read what was written, and let nothing else in."""

import pytest

from app.domain.keys import InstallationKey, IssueKey, RepositoryKey, TicketKey, TrunkKey, WordKey, parse_key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("octo-org/demo", RepositoryKey("octo-org/demo")),
        ("octo-org/demo#42", TicketKey("octo-org/demo", 42)),
        ("octo-org/demo@release-1-2-0", TrunkKey("octo-org/demo", "release-1-2-0")),
        ("octo-org/demo@release/1#2@x", TrunkKey("octo-org/demo", "release/1#2@x")),
        ("o_short/a.b_c-d", RepositoryKey("o_short/a.b_c-d")),
        ("o/.github", RepositoryKey("o/.github")),
        ("o/..x#1", TicketKey("o/..x", 1)),
        ("octo-org/demo!comment-57", WordKey("octo-org/demo", "comment-57")),
        ("o/..x!button-7.hold.0123456789ab", WordKey("o/..x", "button-7.hold.0123456789ab")),
        ("installation:7", InstallationKey(7)),
        ("installation:7/I_kwDOAB-_", IssueKey(7, "I_kwDOAB-_")),
    ],
)
def test_written_and_read(text, key):
    assert parse_key(text) == key
    assert str(key) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "demo",
        "o/",
        "/r",
        "o/r/x",
        "o/.",
        "o/..",
        "o/..#1",
        "-o/r",
        "o/r#",
        "o/r#0",
        "o/r#042",
        "o/r#4x",
        "o/r#42\n",
        "o/r\n",
        "o/r@",
        "o/r@a b",
        "o/r#12345678901",
        "o/" + "r" * 101,
        "o" * 40 + "/r",
        "ö/r",
        "o/r#٤",
        "o/r!57",
        "o/..!comment-1",
        "o/r!comment-0",
        "o/r!comment-1\n",
        "o/r!button-7.hold",
        "o/r!button-7.land.0123456789ab",
        "o/r!button-7.hold.0123456789AB",
        "installation:7/",
        "installation:7/a b",
        "installation:7/" + "a" * 101,
        "installation:0/I_kw",
    ],
)
def test_not_a_key(text):
    with pytest.raises(ValueError, match="not a key"):
        parse_key(text)


@pytest.mark.parametrize("number", [0, -1, True, 10**10])
def test_not_a_number(number):
    with pytest.raises(ValueError, match="not the number"):
        TicketKey("o/r", number)


def test_hostile_parts_never_become_a_key():
    with pytest.raises(ValueError, match="owner/repo"):
        TicketKey("o/r#1\n", 2)
    with pytest.raises(ValueError, match="branch"):
        TrunkKey("o/r", "a b")


def test_a_word_says_which_comment_it_stands_in():
    assert WordKey("o/r", "comment-57").comment_id == 57
    assert WordKey("o/r", "button-7.brief.0123456789ab").comment_id is None
    with pytest.raises(ValueError, match="not what a person said"):
        WordKey("o/r", "comment-57 ")
