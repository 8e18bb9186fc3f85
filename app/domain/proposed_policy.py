"""The policy that `agent-recovery init` proposes: what a careful owner begins with, fitted to the repository.

It observes, so merging it changes nothing but what is shown. Names of branches and labels are strangers' text and enter
only as counts, out of a fixed list, or quoted.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from app.domain.policy import Mode, Policy
from app.domain.policy_text import read_policy
from app.domain.trunks import is_trunk

_LINE_ENDS = re.compile("[\x85\u2028\u2029\ufeff]")
BRANCH = "agent-recovery/init"
"""The branch of the pull request that proposes a policy."""
FAMILIES = (
    "release-*",
    "release/*",
    "releases/*",
    "rel-*",
    "rel/*",
    "stable-*",
    "stable/*",
    "maintenance/*",
    "maint/*",
)
LABELS = ("agent-recovery", "agent-ticket", "agent-task", "agent", "agents", "ai-agent")
"""Labels that say by their name what they are for."""


@dataclass(frozen=True)
class Proposed:
    """The file's text, its trunks with how many branches each matches now, and a label that may be meant."""

    text: str
    trunks: tuple[tuple[str, int], ...]
    likely_label: str | None


def proposed_policy(
    branches: Iterable[str],
    labels: Collection[str],
    default_branch: str,
    *,
    mode: Mode = Mode.OBSERVE,
    label: str | None = None,
    schema_url: str | None = None,
) -> Proposed:
    """A policy for a repository with these branches and labels. `label` enrolls; raises ValueError where the result
    cannot be read as a policy.
    """
    names = tuple(branches)
    counted = [(family, sum(is_trunk(name, [family], default_branch) for name in names)) for family in FAMILIES]
    trunks = tuple((family, count) for family, count in counted if count)
    present = {name.casefold() for name in labels}
    likely = next((name for name in LABELS if name in present), None)
    text = _text(trunks, mode, label, likely, schema_url)
    reading = read_policy(text)
    if reading.policy is None or reading.problems or reading.clamps or reading.policy.enroll.label != label:
        raise ValueError(f"the proposal is no policy: {reading.problems or reading.clamps}")
    return Proposed(text, trunks, likely)


def _text(
    trunks: tuple[tuple[str, int], ...], mode: Mode, label: str | None, likely: str | None, schema_url: str | None
) -> str:
    lines = []
    if schema_url is not None:
        lines.append(f"# yaml-language-server: $schema={schema_url}")
    lines += [
        "# How far Agent Recovery may go here. Without this file on the default branch it writes nothing.",
        "version: 1",
        "",
        "# observe: show only, refuse agents' claims. repair: put right what is broken. full: also land what is ready.",
        "# `agent-recovery plan --repo OWNER/NAME` shows what each of them would do here.",
        f"mode: {mode}",
        "",
        "# The branches that tickets land on; * stops at a slash.",
        "trunks:",
    ]
    if trunks:
        lines += [f"  - {json.dumps(family)}  # {_matches(count)}" for family, count in trunks]
    else:
        lines += [f"  - {json.dumps(pattern)}  # none matches now" for pattern in Policy().trunks]
    lines += [
        "",
        "# An Issue becomes a ticket when an agent claims it; where this is set, by a label or a branch too.",
    ]
    if label is not None:
        lines += ["enroll:", f"  label: {_quoted(label)}"]
    else:
        lines += ["# enroll:", f"#   label: {likely or 'agent'}", "#   branch: true  # branches such as ticket/42"]
    lines += [
        "",
        "# Commands that show that work can be trusted. No shell runs them.",
        "# verify:",
        "#   - make test",
        "",
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """The text as YAML's double quotes carry it; what YAML takes for the end of a line is escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _matches(count: int) -> str:
    return "1 branch matches now" if count == 1 else f"{count} branches match now"
