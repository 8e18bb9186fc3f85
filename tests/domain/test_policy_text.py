import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.policy import Mode, Policy, duration_seconds, duration_text, policy_schema
from app.domain.policy_text import read_policy

SCHEMA = Path(__file__).parents[2] / "docs/schema/policy.json"

FULL = """\
version: 1
mode: repair
trunks: [release-*, release/*]
release: {into: main, exclusive: true, authorizers: [octo], expires: 12h}
main_exceptions: [hotfix/x]
enroll: {label: agent, branch: true}
verify:
  - python -m pytest -q "tests/a b"
  - [make, test]
lease: {ttl: 20m, grace: 90s, heartbeat: 30, recovering_ttl: 10m}
resume: {enabled: off, max_age: 6h, max_attempts: 5, dispatch: none}
checkpoint: {max_gap: 1h}
retention: 30d
landing: {method: merge, checks: none, unguarded_base: block}
protected_paths: [.github/**]
project: {number: 7}
ledger: {namespace: refs/heads/agent-recovery}
"""


def test_every_key_is_read() -> None:
    reading = read_policy(FULL)
    assert reading.problems == ()
    assert reading.clamps == ()
    policy = reading.policy
    assert policy is not None
    assert policy.mode is Mode.REPAIR
    assert policy.verify == (("python", "-m", "pytest", "-q", "tests/a b"), ("make", "test"))
    assert policy.lease.ttl == timedelta(minutes=20)
    assert policy.lease.heartbeat == timedelta(seconds=30)
    assert policy.resume.enabled is False
    assert policy.resume.max_attempts == 5
    assert policy.landing.checks == "none"
    assert policy.retention == timedelta(days=30)
    assert policy.ledger.namespace == "refs/heads/agent-recovery"
    assert policy.release.into == "main"


def test_no_file_is_no_policy_and_an_empty_one_the_defaults() -> None:
    assert read_policy(None).policy is None
    for text in ("", "# nothing\n", "---\n", "lease:\nmode:\n"):
        assert read_policy(text).policy == Policy()
    default = Policy()
    assert default.mode is Mode.OBSERVE
    assert default.lease.ttl == timedelta(minutes=15)
    assert default.lease.grace == timedelta(seconds=60)
    assert default.resume.max_age == timedelta(hours=4)
    assert default.resume.max_attempts == 3
    assert default.checkpoint.max_gap == timedelta(minutes=30)
    assert default.retention == timedelta(days=90)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("lease: {ttl: 10s}", ("lease", "ttl"), timedelta(minutes=2)),
        ("lease: {ttl: 9h}\nresume: {max_age: 8h}", ("lease", "ttl"), timedelta(hours=4)),
        ("lease: {grace: 0}", ("lease", "grace"), timedelta(seconds=60)),
        ("lease: {grace: 1h}", ("lease", "grace"), timedelta(minutes=10)),
        ("resume: {max_attempts: 0}", ("resume", "max_attempts"), 1),
        ("resume: {max_attempts: 99999999999999}", ("resume", "max_attempts"), 10),
        ("retention: 999999999d", ("retention",), timedelta(days=3650)),
        ("lease: {ttl: 4h}", ("resume", "max_age"), timedelta(hours=8)),
    ],
)
def test_values_outside_their_bounds_are_moved_and_reported(text: str, path: tuple[str, ...], expected: object) -> None:
    reading = read_policy(text)
    value: object = reading.policy
    for name in path:
        value = getattr(value, name)
    assert value == expected
    assert len(reading.clamps) == 1
    assert reading.clamps[0].startswith(".".join(path))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("mode: repair\nmodus: x", 2, "unknown key modus"),
        ("lease:\n  ttl: 15m\n  tl: 3m", 3, "unknown key lease.tl"),
    ],
)
def test_unknown_keys_are_reported_and_ignored(text: str, line: int, words: str) -> None:
    reading = read_policy(text)
    assert reading.policy is not None
    assert [(p.line, p.message) for p in reading.problems] == [(line, words)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("mode: repair\nmode: full", 2, "mode is given twice"),
        ("mode: always", 1, "mode"),
        ("version: 2", 1, "version"),
        ("mode: off", 1, "mode"),
        ("\nlease:\n  ttl: soon", 3, "lease.ttl: a duration is"),
        ("lease:\n\tttl: 15m", 2, "tab"),
        ("- a\n- b", 1, "key: value"),
        ("just words", 1, "key: value"),
        ("a: &x [1]\nb: *x", 1, "anchors"),
        ("mode: !!python/object/apply:os.system ['true']", 1, "tags"),
        ("mode: [", 1, "expected"),
        ("trunks: [" * 40, 1, "nested"),
        ("verify: ['a \"b']", 1, "command 1"),
        ("verify: [[]]", 1, "command 1 is empty"),
        ("verify: pytest", 1, "list of commands"),
        ("verify: [{a: b}]", 1, "line or a list of words"),
        ("resume: {max_attempts: many}", 1, "resume.max_attempts"),
        ("retention: 2026-01-01", 1, "retention"),
        ("trunks: ['a b']", 1, "trunks"),
        ("ledger: {namespace: refs/heads}", 1, "ledger.namespace"),
        ("lease: 15m", 1, "lease"),
        ("? [a, b]\n: c", 1, "plain word"),
        ("mode: observe\n---\nmode: full", 2, "document"),
        ("mode: \x01", 0, "characters"),
        ("x: " + "y" * 70_000, 0, "64 KiB"),
    ],
)
def test_an_unusable_text_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    reading = read_policy(text)
    assert reading.policy is None
    assert (reading.problems[0].line, words in reading.problems[0].message) == (line, True), reading.problems
    assert reading.problems[0].remedy


def test_a_hostile_key_does_not_travel_into_the_report() -> None:
    reading = read_policy('"@everyone <!-- x": 1')
    assert reading.problems[0].message == "unknown key ?everyone???--?x"


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    reading = read_policy(text)
    assert (reading.policy is None) <= bool(reading.problems)


@given(st.integers(min_value=0, max_value=10**8))
def test_durations_are_written_as_they_are_read(seconds: int) -> None:
    assert duration_seconds(duration_text(timedelta(seconds=seconds))) == seconds


def test_the_published_schema_is_current() -> None:
    assert json.loads(SCHEMA.read_text()) == policy_schema(), "run: python tests/domain/write_schemas.py"
