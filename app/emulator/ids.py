"""Database ids and node ids.

Node ids carry their own address (``prefix_`` plus the encoded parts), so ``node(id:)`` resolves every object
without a table, commits and trees included.
"""

from __future__ import annotations

import base64
import binascii

# Real ids of these kinds have passed 2^31; a client that keeps them in 32 bits must fail here too.
_STARTS = {
    "workflow": 110_000_001,
    "workflow_run": 17_200_000_001,
    "account": 1_001,
    "team": 4_200_001,
    "activity": 23_000_000_001,
    "app": 900_001,
    "hook": 500_000_001,
    "installation": 60_000_001,
    "repository": 1_090_000_001,
    "issue": 3_400_000_001,
    "pull": 2_900_000_001,
    "comment": 3_500_000_001,
    "event": 20_100_000_001,
    "label": 9_100_000_001,
    "suite": 48_000_000_001,
    "check_run": 54_000_000_001,
    "status": 41_000_000_001,
    "delivery": 190_000_000_001,
    "review": 3_600_000_001,
    "milestone": 14_000_001,
    "edit": 2_400_000_001,
    "linked_branch": 5_000_001,
    "project": 21_000_001,
    "project_field": 270_000_001,
    "project_item": 160_000_001,
    "project_value": 310_000_001,
    "review_comment": 2_300_000_001,
    "review_thread": 5_100_000_001,
    "ruleset": 9_000_001,
    "queue_entry": 120_001,
    "stack": 9_800_001,
    "release": 190_000_001,
    "deployment": 2_600_000_001,
    "deployment_status": 5_200_000_001,
}


class Ids:
    """One growing sequence per kind of object."""

    def __init__(self) -> None:
        self._next = dict(_STARTS)

    def next(self, kind: str) -> int:
        """A number never handed out before for this kind."""
        number = self._next[kind]
        self._next[kind] += 1
        return number


def node_id(prefix: str, *parts: int | str) -> str:
    """The opaque id of an object of kind ``prefix`` (``R``, ``I``, ``PR``, ``IC``, ``C`` …)."""
    text = ":".join(str(part) for part in parts)
    return f"{prefix}_kw" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def parse_node_id(value: str) -> tuple[str, list[str]] | None:
    """Prefix and parts of a node id, or None when it is not one of ours."""
    prefix, mark, encoded = value.partition("_kw")
    if not mark:
        return None
    try:
        text = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    return prefix, text.split(":")
