import base64
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.domain import admission
from app.domain.admission import Admitted, admit, stored_size
from app.domain.agent_api import ClaimRequest
from app.domain.checkpoint import MAX_BYTES, Checkpoint
from app.domain.embedded_json import embedded_json
from app.domain.outcome import Blocked, Code
from app.domain.secret_shapes import Redacted, redact
from app.domain.untrusted import inline

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures/redaction.json").read_text())
CASES, EXPECTED = FIXTURE["input"]["cases"], FIXTURE["expected"]["cases"]
SHA = "0123456789abcdef0123456789abcdef01234567"


def joined(value: Any) -> str:
    """Token-shaped texts are stored in parts, so that no scanner takes a fixture for a secret."""
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else part["repeat"] * part["count"] for part in value["parts"])


def accepted(raw: dict[str, Any], *roots: str) -> Admitted:
    result = admit(raw, root_hints=roots)
    assert isinstance(result, Admitted), result
    return result


def dump(checkpoint: Checkpoint) -> str:
    return json.dumps(checkpoint.model_dump(mode="json"), ensure_ascii=False)


SECRETS = [case for case in CASES if "parts" in case.get("note", {}) and case["name"] != "token_across_the_cut"]


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case["name"])
def test_b40_no_secret_is_stored(case: dict[str, Any]) -> None:
    text = joined(case["note"])
    result = accepted({"objective": text, "next_steps": [text], "blockers": [f"see {text}"]})
    stored = dump(result.checkpoint)
    leaks = [part for part in case["note"]["parts"] if len(part) >= 16 and part in stored]
    assert bool(leaks) is EXPECTED[case["name"]]["contains_secret"]
    assert "[redacted:" in stored
    assert {change.field for change in result.changes} >= {"objective", "next_steps[0].text", "blockers[0]"}
    assert {change.kind for change in result.changes} == {"redacted"}


def test_b40_the_kind_is_named() -> None:
    text = joined(next(case for case in CASES if case["name"] == "token_in_note")["note"])
    placeholder = EXPECTED["token_in_note"]["placeholder"]
    assert accepted({"objective": text}).checkpoint.objective == f"export TOKEN={placeholder}"


def test_b40_credentials_leave_a_usable_url() -> None:
    remote = joined(next(case for case in CASES if case["name"] == "url_credentials")["remote"])
    assert accepted({"relevant_refs": [remote]}).checkpoint.relevant_refs == (EXPECTED["url_credentials"]["value"],)


def test_b40_a_token_across_a_limit_is_redacted_before_anything_is_measured() -> None:
    text = joined(next(case for case in CASES if case["name"] == "token_across_the_cut")["note"])
    secret = text.lstrip("x")
    result = admit({"objective": text})
    assert EXPECTED["token_across_the_cut"]["order"] == "redact first, shorten after"
    assert isinstance(result, Blocked)
    assert secret not in result.reason + result.remedy
    small = accepted({"objective": text[-1000:]}).checkpoint.objective
    assert small is not None
    assert small.endswith("[redacted:github-token]")


@pytest.mark.parametrize("case", [c for c in CASES if "cwd" in c], ids=lambda case: case["name"])
def test_b40_paths(case: dict[str, Any]) -> None:
    result = accepted({"artifact_refs": [case["cwd"]]}, case["repo_root"])
    assert result.checkpoint.artifact_refs == (EXPECTED[case["name"]]["value"],)
    assert accepted({"artifact_refs": [case["cwd"]]}).checkpoint.artifact_refs == ("[redacted:path]",)


def test_b40_the_other_cases() -> None:
    by_name = {case["name"]: case for case in CASES}
    kept = by_name["sha_is_kept"]["head_sha"]
    assert accepted({"decision_refs": [kept]}).checkpoint.decision_refs == (EXPECTED["sha_is_kept"]["value"],)
    assert kept == EXPECTED["sha_is_kept"]["value"]
    link = by_name["session_link"]["note"]
    stored = accepted({"objective": link}).checkpoint.objective
    assert stored == "see [redacted:session-link]"
    assert (link.removeprefix("see ") in stored) is EXPECTED["session_link"]["link_kept"]
    unknown = accepted({"env": by_name["unknown_field"]["env"]})
    assert ("dev-a" not in dump(unknown.checkpoint)) is EXPECTED["unknown_field"]["field_dropped"]
    assert [(c.field, c.kind) for c in unknown.changes] == [("env", "left_out")]


def test_b40_a_field_whose_scan_fails_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    def scanner(text: str) -> Redacted:
        if "bad" in text:
            raise RuntimeError("scanner broke")
        return redact(text)

    monkeypatch.setattr(admission, "redact", scanner)
    result = accepted({"objective": "a bad one", "next_steps": ["fine"]})
    assert result.checkpoint.objective is None
    assert [step.text for step in result.checkpoint.next_steps] == ["fine"]
    assert [(c.field, c.kind) for c in result.changes] == [("objective", "withheld")]


def test_b40_where_the_scanner_fails_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty checkpoint in the place of the last good one would be worse than none."""

    def scanner(text: str) -> Redacted:
        raise RuntimeError(text)

    monkeypatch.setattr(admission, "redact", scanner)
    note = {"objective": "a plan", "next_steps": ["go on"], "blockers": [], "predecessor_sha": SHA}
    result = admit(note)
    assert isinstance(result, Admitted) is EXPECTED["scanner_fails"]["written"]
    assert isinstance(result, Blocked)
    assert result.code is Code.CHECKPOINT_INVALID
    assert EXPECTED["scanner_fails"]["state"].replace("checkpoint ", "checkpoint is ") in result.reason
    assert "a plan" not in result.reason + result.remedy


def test_b40_nobody_is_mentioned_by_what_is_shown_of_a_checkpoint() -> None:
    note = next(case for case in CASES if case["name"] == "mention")["note"]
    stored = accepted({"objective": note, "next_steps": [note], "blockers": [note]}).checkpoint
    assert stored.objective == note
    shown = [inline(str(stored.objective), 300), embedded_json(stored.model_dump(mode="json"))]
    pings = [text for text in shown if re.search(r"@[A-Za-z0-9]", text)]
    assert len(pings) == EXPECTED["mention"]["pings"]


@pytest.mark.parametrize(
    "key", ["thinking", "chain_of_thought", "chainOfThought", "reasoning_trace", "scratchpad", "inner-monologue", "CoT"]
)
def test_reasoning_is_left_out_wherever_it_stands(key: str) -> None:
    result = accepted({key: "because I felt so", "next_steps": [{"text": "go on", key: "I wonder"}]})
    stored = dump(result.checkpoint)
    assert "felt" not in stored
    assert "wonder" not in stored
    assert {c.detail for c in result.changes} == {"private reasoning is not stored"}
    assert len(result.changes) == 2


def test_blocks_of_reasoning_inside_text_go_too() -> None:
    result = accepted({"objective": "parse <thinking>hmm,\nmaybe</thinking>it", "blockers": ["x <think>never closed"]})
    assert result.checkpoint.objective == "parse it"
    assert result.checkpoint.blockers == ("x ",)


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ({"objective": 3}, "objective"),
        ({"objective": {"a": 1}}, "objective"),
        ({"blockers": "one"}, "blockers"),
        ({"blockers": ["ok", 2]}, "blockers[1]"),
        ({"blockers": [["deep"]]}, "blockers[0]"),
        ({"next_steps": {"1": "a"}}, "next_steps"),
        ({"next_steps": [None]}, "next_steps[0]"),
        ({"next_steps": [{"id": "1"}]}, "next_steps[0].text"),
        ({"next_steps": [{"text": "a", "id": [1]}]}, "next_steps[0].id"),
        ({"completed_steps": [{"text": "a", "sha": "abc123"}]}, "completed_steps[0].sha"),
        ({"predecessor_sha": "main"}, "predecessor_sha"),
        ({"predecessor_issue_or_pr": "41"}, "predecessor_issue_or_pr"),
        ({"predecessor_issue_or_pr": True}, "predecessor_issue_or_pr"),
        ({"predecessor_issue_or_pr": 10**5000}, "predecessor_issue_or_pr"),
    ],
)
def test_a_wrong_type_names_its_field(raw: dict[str, Any], named: str) -> None:
    result = admit(raw)
    assert isinstance(result, Blocked)
    assert result.code is Code.CHECKPOINT_INVALID
    assert result.reason.startswith(f"{named} must be ")


def test_everything_that_fits_is_kept() -> None:
    raw = {
        "objective": "Parse it\tall",
        "completed_steps": [{"id": 1, "text": "first", "sha": SHA.upper()}, "plain"],
        "next_steps": [{"id": "x", "text": "second", "sha": None}],
        "pending_validation": ["pytest"],
        "accepted_decisions": ["POST /api/v1/items answers 201", "docs at https://example.com/home/page/tmp/x"],
        "relevant_refs": [SHA, "src/var/tmp.py", "release/1"],
        "predecessor_issue_or_pr": 41,
        "predecessor_sha": SHA,
        "checkpoint_sha_or_snapshot": SHA,
        "current_diff": "+ a\n- b",
        "validation_state": None,
    }
    result = accepted(raw)
    assert result.changes == ()
    kept = result.checkpoint
    assert kept.objective == "Parse it\tall"
    assert [(s.id, s.text, s.sha) for s in kept.completed_steps] == [("1", "first", SHA), ("", "plain", None)]
    assert kept.accepted_decisions == tuple(raw["accepted_decisions"])  # type: ignore[arg-type]
    assert kept.relevant_refs == tuple(raw["relevant_refs"])  # type: ignore[arg-type]
    assert (kept.predecessor_issue_or_pr, kept.predecessor_sha) == (41, SHA)


def test_derived_fields_are_reported_once_and_not_believed() -> None:
    result = accepted({"status": "ready", "execution_generation": 99, "pr_number": None, "updated_at": {}})
    assert result.checkpoint == Checkpoint()
    assert [(c.field, c.kind) for c in result.changes] == [("execution_generation, status, updated_at", "derived")]


@pytest.mark.parametrize("unit", ["x", "é", "修", "🎉", "<", '"'])
def test_too_large_is_measured_as_it_would_be_stored(unit: str) -> None:
    one = stored_size(Checkpoint(objective=unit)) - stored_size(Checkpoint(objective=""))
    room = MAX_BYTES - stored_size(Checkpoint(objective=""))
    assert isinstance(admit({"objective": unit * (room // one)}), Admitted)
    over = admit({"objective": unit * (room // one + 1), "blockers": ["small"]})
    assert isinstance(over, Blocked)
    assert over.code is Code.CHECKPOINT_TOO_LARGE
    assert str(MAX_BYTES) in over.reason
    assert over.remedy.startswith("shorten objective")


def test_control_and_hidden_characters_go() -> None:
    text = "a\x00b\x1b[31mc\u202ed\u200be\ufefff\U000e0041g\r\nh \ud83d i 👩\u200d👧"
    assert accepted({"objective": text}).checkpoint.objective == "ab[31mcdefg\nh \ufffd i 👩\u200d👧"


def test_a_hidden_character_does_not_hide_a_token() -> None:
    for hidden in ("\u200b", "\u200d", "\u00ad", "\x07", "\u200b\u200d"):
        stored = accepted({"objective": f"gh{hidden}p_" + "A" * 10 + hidden + "A" * 26}).checkpoint.objective
        assert stored == "[redacted:github-token]"


def test_reports_stay_small_and_show_no_secret() -> None:
    token = "gh" + "p_" + "Z" * 36
    result = accepted({**{f"field{i}": i for i in range(5000)}, token: 1, "@all <!--": 2})
    assert len(result.changes) == 51
    assert result.changes[-1].detail == "4951 more changes of this kind"
    assert token not in str(accepted({token: 1}).changes)
    assert "@all" not in str(accepted({"@all": 1}).changes)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(sorted({*Checkpoint.model_fields, "thinking", "env"}))


@given(st.dictionaries(FIELDS | st.text(max_size=5), JUNK, max_size=6))
def test_nothing_raises(raw: dict[str, Any]) -> None:
    result = admit(raw, root_hints=["/", "", "C:\\", "/a/b", "\\", "(("])
    assert isinstance(result, Admitted | Blocked)
    if isinstance(result, Admitted):
        assert stored_size(result.checkpoint) <= MAX_BYTES


def test_deep_nesting_is_only_a_wrong_type() -> None:
    deep: Any = "x"
    for _ in range(50_000):
        deep = [deep]
    assert isinstance(admit({"blockers": deep}), Blocked)
    assert isinstance(admit({"other": deep}), Admitted)


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def words(low: int, high: int, alphabet: str = ALPHABET) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=low, max_size=high)


SECRET_FORMS = st.one_of(
    st.tuples(st.sampled_from(["p_", "o_", "u_", "s_", "r_"]), words(36, 60)).map(lambda t: "gh" + t[0] + t[1]),
    st.lists(words(20, 170), min_size=3, max_size=3).map(lambda p: "gh" + "s_" + "1234_" + "ey" + "J" + ".".join(p)),
    words(40, 82).map(lambda s: "github" + "_pat_" + s),
    st.tuples(words(20, 60), words(43, 43)).map(lambda t: "ar" + "l_k1." + t[0] + "." + t[1]),
    st.lists(words(12, 40), min_size=3, max_size=3).map(lambda p: "ey" + "J" + ".".join(p)),
    words(16, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789").map(lambda s: "AK" + "IA" + s),
    words(35, 35).map(lambda s: "AI" + "za" + s),
    words(24, 40).map(lambda s: "sk" + "_live_" + s),
    words(24, 40).map(lambda s: "sk" + "-ant-" + s),
    words(24, 40).map(lambda s: "xo" + "xb-" + s),
    words(36, 36).map(lambda s: "np" + "m_" + s),
    words(20, 20).map(lambda s: "gl" + "pat-" + s),
    words(86, 86).map(lambda s: "Account" + "Key=" + s + "=="),
    words(64, 200).map(lambda s: "-----BEGIN " + "PRIVATE KEY-----\n" + s + "\n-----END " + "PRIVATE KEY-----"),
)


@given(
    SECRET_FORMS,
    st.sampled_from(["", " ", "\n", '"', "x=", "(", "修", "token: "]),
    st.sampled_from(["", ".", " ", ")"]),
)
def test_no_form_of_a_secret_survives_and_shas_do(secret: str, before: str, after: str) -> None:
    result = accepted(
        {"objective": f"{SHA} {before}{secret}{after} then {SHA}", "next_steps": [{"id": "1", "text": secret}]}
    )
    stored = dump(result.checkpoint)
    longest = max(secret.replace("\n", ".").split("."), key=len)
    assert longest not in stored
    assert stored.count(SHA) == 2
    objective = result.checkpoint.objective or ""
    assert accepted({"objective": objective}).checkpoint.objective == objective


@given(
    st.text("0123456789abcdef", min_size=40, max_size=40),
    st.sampled_from(["", "commit ", "token: ", "sha=", "12345678:"]),
)
def test_a_sha_is_never_redacted(sha: str, before: str) -> None:
    assert accepted({"objective": f"{before}{sha}"}).checkpoint.objective == f"{before}{sha}"


@pytest.mark.parametrize(
    "text",
    [
        "fix token: expired in the parser",
        "password=None is the default",
        "secret: see the vault",
        "the highp_precision_value_of_shaders",
        "ssh://git@github.com/octo-org/demo.git",
        "git@github.com:octo-org/demo.git",
        "https://localhost:8080/users/@me",
        "see https://example.com/docs/session/setup",
        "GET /api/v1/repos, GET /home and /tmp",
        "HEAD~1/src and a/home/b",
        "release-1-2-0, ticket/42-add-a-parser",
        "Basic authentication",
        "scheme a://b and c:/d",
        "docker run -u 1000:1000 x, git push -u origin HEAD:main",
        "the cookie jar, Set-Cookie headers and login password rules",
        "mysql -h db -p asks for the password; pass -p to mkdir",
        "GET /opt-in and /services",
        "dapi is short, hvs. too, ATATT as well",
        "VGhpcyBpcyBqdXN0IGEgc2VudGVuY2UgaW4gYmFzZTY0IGFuZCBubyBzZWNyZXQ=",
        "fullwidth \uff21\uff22\uff23 letters",
        "see https://claude.ai/code and https://cursor.com/agents",
        "https://docs.cursor.com/background-agent and https://discord.com/api/docs",
        "https://chatgpt.com/pricing, gemini.google.com/app",
        "Authorization: Bearer <token>, Authorization: required",
        'send "Authorization: Bearer $TOKEN" and Basic auth',
        "docker run -p 8080:80 web; docker login asks",
        'docker login -u ann -p $TOKEN and sshpass -p "$PW"',
        "tool --token-file x1, --token expired --api-key required",
        "the mysql --password option, redis-cli -a and -p",
        "curl -b cookies.txt -sSu ann https://h/x",
        "first_pass = step_2, compass: n0rth, BYPASS=1234",
        "cd $HOME and echo ${HOME}, %PATH%, $PATH/x",
        "/data, /home, /nfs and /api/v1/data/x",
        "GET /data/items/3, POST /scratch/items",
        "src/data/a/b.py, testbed/x, ./github/workspace, __w and foo/__w/x",
        f"commit_token_sha={SHA}, token_hash: {SHA}",
        "a-long-branch-name/with-many-words-in-it",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    result = accepted({"objective": text})
    assert (result.checkpoint.objective, result.changes) == (text, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=hunter2x!", "password=[redacted:assigned-secret]"),
        ('API_KEY: "abcd1234efgh"', 'API_KEY: "[redacted:assigned-secret]"'),
        ("aws_secret_access_key = abc/DEF123+456", "aws_secret_access_key = [redacted:assigned-secret]"),
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: [redacted:authorization]"),
        ("postgres://u:p4ss@db/x", "postgres://db/x"),
        (f"vault hvs.{'Ca1' * 10}", "vault [redacted:vault-token]"),
        (f"dckr_pat_{'a1B' * 9}", "[redacted:docker-token]"),
        (f"ATATT3{'xFfGF0' * 8}=1A2B", "[redacted:atlassian-token]"),
        (f"dapi{'0a' * 16}", "[redacted:databricks-token]"),
        (f"AGE-SECRET-KEY-1{'QPZ8' * 14}", "[redacted:age-key]"),
        ("Cookie: session=abc; theme=dark", "Cookie: [redacted:cookie]"),
        ("curl -H 'Cookie: sid=1'", "curl -H 'Cookie: [redacted:cookie]'"),
        ("machine h login u password x", "machine h login u password [redacted:login-password]"),
        ("curl -u ann:hunter2 https://h", "curl -u ann:[redacted:command-password] https://h"),
        ("curl --user=ann:hunter2", "curl --user=ann:[redacted:command-password]"),
        ("mysql -u root -pX9 shop", "mysql -u root -p[redacted:command-password] shop"),
        ("\uff47\uff48\uff50_" + "aB3d" * 9, "[redacted:github-token]"),
        (base64.b64encode(b"ghp_" + b"aB3d" * 9).decode(), "[redacted:packed-secret]"),
        (base64.urlsafe_b64encode(b"AKIAABCDEFGHIJKLMNOP").decode(), "[redacted:packed-secret]"),
        ("see claude.ai/code/session_01ABcd", "see [redacted:session-link]"),
        ("https://chatgpt.com/codex/tasks/task_e_68ab", "[redacted:session-link]"),
        ("https://cursor.com/background-agent?bcId=bc-ab", "[redacted:session-link]"),
        ("https://cursor.com/agents?id=bc-abc&x=1 on", "[redacted:session-link] on"),
        ("(https://jules.google.com/task/123)", "([redacted:session-link])"),
        ("gemini.google.com/app/abcdef", "[redacted:session-link]"),
        ("https://claude.ai/chat/abc-def", "[redacted:session-link]"),
        ("resume session_01AbCdEfGhIjKlMnOp", "resume [redacted:session-link]"),
        ("https://discord.com/api/webhooks/123/aB-c_d", "[redacted:webhook-url]"),
        ("https://hooks.slack.com/services/T0/B0/x", "[redacted:webhook-url]"),
        ("figd_aB3d-eF6_x", "[redacted:figma-token]"),
        ("DB_PASS=s3cr3tpw", "DB_PASS=[redacted:assigned-secret]"),
        ("MYSQL_PWD=hunter", "MYSQL_PWD=[redacted:assigned-secret]"),
        ("db_pass: s3cr3t", "db_pass: [redacted:assigned-secret]"),
        ('password: "correct horse battery 9" x', 'password: "[redacted:assigned-secret]" x'),
        ("'password': 'correct horse'", "'password': '[redacted:assigned-secret]'"),
        (r"{\"password\": \"two w0rds\"}", r"{\"password\": \"[redacted:assigned-secret]\"}"),
        (f"Authorization: token {SHA}", "Authorization: [redacted:authorization]"),
        ("-H 'authorization: Basic dTpw'", "-H 'authorization: [redacted:authorization]'"),
        (f"API_TOKEN={SHA}", "API_TOKEN=[redacted:assigned-secret]"),
        (f"export GITHUB_TOKEN={SHA}", "export GITHUB_TOKEN=[redacted:assigned-secret]"),
        (f"api_key: {SHA}{SHA[:24]}", "api_key: [redacted:assigned-secret]"),
        (f'"accessToken": "{SHA}"', '"accessToken": "[redacted:assigned-secret]"'),
        (f"token={SHA}", "token=[redacted:assigned-secret]"),
        ("curl -sSu u:p h", "curl -sSu u:[redacted:command-password] h"),
        ("curl 'h?a=1&b=2' \\\n -u u:p", "curl 'h?a=1&b=2' \\\n -u u:[redacted:command-password]"),
        ("curl -b session=abc h", "curl -b [redacted:command-password] h"),
        ("curl --cookie 'sid=1; b=2' h", "curl --cookie '[redacted:command-password]' h"),
        ('curl -u "ann:my pass 1" h', 'curl -u "ann:[redacted:command-password]" h'),
        ("tool --api-token abc123def456", "tool --api-token [redacted:command-password]"),
        ("password = 'a b'", "password = '[redacted:assigned-secret]'"),
        ('"/Users/Ada Lovelace"', '"[redacted:path]"'),
        ("docker login -u a -p x r.io", "docker login -u a -p [redacted:command-password] r.io"),
        ("sshpass -p x ssh h", "sshpass -p [redacted:command-password] ssh h"),
        ("sshpass -p 'a b' ssh h", "sshpass -p '[redacted:command-password]' ssh h"),
        ("mysql -u a --password x", "mysql -u a --password [redacted:command-password]"),
        ("redis-cli -h h -a x ping", "redis-cli -h h -a [redacted:command-password] ping"),
        ("openssl rsa -passin pass:x", "openssl rsa -passin pass:[redacted:command-password]"),
        (f"github_pat_{'aB3d' * 10}\n{'aB3d' * 10}aB\nand", "[redacted:github-token]\nand"),
        (f"ghp_{'aB3d' * 3}\n  {'aB3d' * 3}\n{'aB3d' * 3}\nafterwards", "[redacted:github-token]\nafterwards"),
        (f"arl_k1.{'aB3d' * 9}\n{'aB3d' * 9}", "[redacted:lease-token]"),
        (base64.b64encode(b"password=hunter2x!").decode(), "[redacted:packed-secret]"),
        ("DATA=" + base64.b64encode(b"password=s3cret").decode(), "DATA=[redacted:packed-secret]"),
        (base64.b64encode(("caf\xe9 ghp_" + "aB3d" * 9).encode()).decode(), "[redacted:packed-secret]"),
        (base64.b64encode(("$p='ghp_" + "aB3d" * 9).encode("utf-16-le")).decode(), "[redacted:packed-secret]"),
        ((b"ghp_" + b"aB3d" * 9).hex(), "[redacted:packed-secret]"),
        ("/data/ann/x.py", "[redacted:path]"),
        ("/github/workspace and /__w/demo/x", "[redacted:path] and [redacted:path]"),
        ("/c/Users/ann/x", "[redacted:path]"),
        ("/export/home/ann/x, /testbed/demo/a", "[redacted:path], [redacted:path]"),
        ("$HOME/x ${HOME}/x", "[redacted:path] [redacted:path]"),
        (r"%USERPROFILE%\x and $env:APPDATA\y", "[redacted:path] and [redacted:path]"),
        ("in /Users/Ada Lovelace/secret/x now", "in [redacted:path] now"),
        ("/Users/ada lovelace/secret/x", "[redacted:path]"),
        ("'/home/ada lovelace/secret/x'", "'[redacted:path]'"),
        (r"/Users/Ada\ Lovelace/secret/x", "[redacted:path]"),
        ("~/Library/Application Support/T/x", "[redacted:path]"),
        ("C:/Users/John Doe/demo/x.py", "[redacted:path]"),
        ("see /home/a/x.py. See A/B", "see [redacted:path] See A/B"),
        ("vscode-remote://ssh/home/al/x.py", "[redacted:path]"),
        ("/opt/app/x.py", "[redacted:path]"),
        ("cd /home/x/y; ls", "cd [redacted:path]; ls"),
        ("(/private/var/folders/a)", "([redacted:path])"),
        ("see file:///Users/x/a.txt", "see [redacted:path]"),
        ("gcc -I/home/dev/include", "gcc -I[redacted:path]"),
        (r"\\wsl$\Ubuntu\home\x", "[redacted:path]"),
        (r"C:\Users\John Doe\demo\x.py is open", "[redacted:path] is open"),
        (r'{"p": "D:\\work\\x"}', '{"p": "[redacted:path]"}'),
        ("~/.config/tool/session.json", "[redacted:path]"),
        ("/root/.ssh/id_rsa", "[redacted:path]"),
    ],
)
def test_replacements(text: str, expected: str) -> None:
    assert accepted({"objective": text}).checkpoint.objective == expected


@pytest.mark.parametrize(
    ("root", "text", "expected"),
    [
        ("/home/d/demo", "in /home/d/demo/src/a.py:12 and /home/d/demo", "in src/a.py:12 and ."),
        ("/home/d/demo/", "/home/d/demo/a", "a"),
        ("/home/d/demo", "/home/d/demo-2/a", "[redacted:path]"),
        ("/home/d/demo", "/home/d/demo/../other/a", "[redacted:path]"),
        ("/srv/w/x", "file:///srv/w/x/a", "a"),
        ("C:\\w\\demo", "c:/W/demo/src\\a.py", "src/a.py"),
        ("/", "/home/d/demo/a", "[redacted:path]"),
    ],
)
def test_work_tree_paths(root: str, text: str, expected: str) -> None:
    assert accepted({"objective": text}, root).checkpoint.objective == expected


def test_a_secret_in_a_holders_label_is_stored_redacted() -> None:
    def label(text: str) -> str:
        return ClaimRequest(claim_id="a1b2c3d4", observed_generation=0, holder=text).holder

    assert label("ann with gh" + "p_" + "aB3d" * 9) == "ann with [redacted:github-token]"
    assert label("ann's laptop, 2nd window") == "ann's laptop, 2nd window"
    assert len(label("a" * 53 + " sk-" + "aB3d" * 5 + "aB")) <= 80
    with pytest.raises(ValidationError):
        label("x" * 81)


UNITS = (
    "eyJ | =eyJ | ghp_ | aaaaaaaaaa | :// | // | aws key  | token  | -----BEGIN PRIVATE KEY----- | a. | a- | @"
    " | <think> | http://a: | sk- | sk_live_ | xoxb-1- |   | \t | gh | arl_a. | C:\\ | \\\\a\\ | /home/ | ~/ | é | ="
    " | 1: | secret= | https://a/share/ | a b  | C:\\a b\\ | AKC | 12345678: | AP1 | AC | file:/"
    " | hvs. | Cookie: | login a password b  | curl -u a: | curl  | mysql -p | mysql  | \uff47 | QUJD | QUJD- | vscode://"
    ' | docker login  | sshpass -p  | curl " | curl -aaaaaaaau | password: " | A_A_A_PASS= | Authorization: a '
    ' | ghp_a\naB1c | 6768705f | cursor.com/agents/ | /Users/A  | /Users/a A/ | "/home/a b c  | c:/Users/a b '
)


@pytest.mark.parametrize("unit", UNITS.split(" | "))
def test_no_text_makes_a_scan_slow(unit: str) -> None:
    started = time.monotonic()
    admit({"objective": unit * (160_000 // len(unit))}, root_hints=["/home/a/b", "C:\\a\\b"])
    assert time.monotonic() - started < 5
