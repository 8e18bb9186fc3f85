"""Probes as they are sent: a closed set of questions, without anything that could be turned against somebody."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.domain.effect_probe import PROBES, HttpProbe, TagProbe, read_probe

SHA = "a" * 40
GOOD: list[dict[str, Any]] = [
    {"type": "pull_request", "head": "ticket/42", "base": "main"},
    {"type": "comment", "number": 7, "marker": "deploy 42"},
    {"type": "comment", "number": 7, "marker": "deploy 42", "author": "ci[bot]"},
    {"type": "issue", "marker": "incident 42"},
    {"type": "branch", "name": "topic/x", "sha": SHA},
    {"type": "tag", "name": "v1.0"},
    {"type": "release", "tag": "v1.0"},
    {"type": "deployment", "environment": "staging", "sha": SHA},
    {"type": "check_run", "name": "ci / test", "sha": SHA},
    {"type": "http", "url": "https://deploy.example.com/v1/42?full=1", "contains": '"done": true'},
    {"type": "http", "url": "https://deploy.example.com:8443/"},
]
BAD: list[Any] = [
    {},
    {"type": "shell", "command": "true"},
    {"type": "tag"},
    {"type": "tag", "name": "v1", "surplus": 1},
    {"type": "tag", "name": "../heads/main"},
    {"type": "tag", "name": "v1\nv2"},
    {"type": "tag", "name": "a b"},
    {"type": "branch", "name": "x", "sha": "abc"},
    {"type": "comment", "number": 0, "marker": "m"},
    {"type": "comment", "number": 1, "marker": ""},
    {"type": "comment", "number": 1, "marker": "m" * 201},
    {"type": "comment", "number": 1, "marker": "ghp_" + "a1B2" * 9},
    {"type": "http", "url": "http://deploy.example.com/"},
    {"type": "http", "url": "https://user:word@deploy.example.com/"},
    {"type": "http", "url": "https://deploy.example.com@evil.example.com/"},
    {"type": "http", "url": "https://deploy.example.com/#x"},
    {"type": "http", "url": "https:///x"},
    {"type": "http", "url": "https://deploy.example.com:0/"},
    {"type": "http", "url": "https://dеploy.example.com/"},
    {"type": "http", "url": "file:///etc/passwd"},
]


@pytest.mark.parametrize("probe", GOOD, ids=str)
def test_a_probe_comes_back_from_the_record_as_it_went_in(probe: dict[str, Any]) -> None:
    read = PROBES.validate_python(probe)
    assert read_probe(read.model_dump(mode="json", exclude_none=True)) == read


@pytest.mark.parametrize("probe", BAD, ids=str)
def test_what_is_no_probe_is_refused_and_in_a_record_it_is_none(probe: Any) -> None:
    with pytest.raises(ValidationError):
        PROBES.validate_python(probe)
    assert read_probe(probe) is None


def test_no_probe_is_none() -> None:
    assert read_probe(None) is None
    assert isinstance(read_probe({"type": "tag", "name": "v1"}), TagProbe)
    assert isinstance(read_probe({"type": "http", "url": "https://a.example.com/"}), HttpProbe)
