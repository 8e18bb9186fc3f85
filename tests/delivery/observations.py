"""Recorded observations: what a decision was made from, readable, with the plan that it yields beside it.

One JSON file a story in `tests/fixtures/observations/`: what was seen (whatever is at its default is left out), and
below it `plan` and `in_the_way`. A rule that changes shows itself as a diff of these files:

    python -m tests.delivery.observations --write
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from app.domain.children import Seen
from app.domain.decide import decide
from app.domain.fencing import Head, Relation, head_of
from app.domain.landing_evidence import LandingEvidence
from app.domain.landing_told import standing_in_the_way
from app.domain.lease import Nobody
from app.domain.merge_seen import AfterMerge
from app.domain.observation import Branch, Observation
from app.domain.policy import Mode, Policy
from app.domain.record import Record
from app.domain.run_seen import RunSeen
from app.domain.situation import Situation

FOLDER = Path(__file__).parents[1] / "fixtures" / "observations"


@dataclass(frozen=True)
class GaveResult:
    """A child whose result stands in the ledger commit `result`."""

    record: Record
    result: str


@dataclass(frozen=True)
class Recorded:
    """One story. `relation`: of the published commit and the branch's head, where the two differ. `authors_live`: the
    processes that opened the record's permits are at work. `policy` is None where none is in force.
    """

    about: str
    observation: Observation
    record: Record
    policy: Policy | None
    relation: Relation | None = None
    tail: int = 0
    authors_live: bool = False
    heartbeat_at: datetime | None = None
    children: Mapping[str, GaveResult] = field(default_factory=dict)
    landing: LandingEvidence | None = None
    after_merge: AfterMerge | None = None
    update: str | None = None
    trunks: tuple[Branch, ...] | None = None
    run: RunSeen | None = None

    @property
    def head(self) -> Head:
        return head_of(self.record, self.observation, self.relation)

    def plan(self) -> list[dict[str, Any]]:
        """What the App does; nothing where the policy allows no write."""
        policy = self.policy
        if policy is None or policy.mode is Mode.OBSERVE:
            return []
        children = {
            name: Seen(child.record, Nobody("it gave its result"), child.result)
            for name, child in self.children.items()
        }
        plan = decide(
            Situation(
                observation=self.observation,
                record=self.record,
                policy=policy,
                head=self.head,
                tail=self.tail,
                author_is_dead=lambda _: not self.authors_live,
                heartbeat_at=self.heartbeat_at,
                children=children,
                landing=self.landing,
                after_merge=self.after_merge,
                update=self.update,
                trunks=self.trunks,
                run=self.run,
            )
        )
        return [{"do": type(action).__name__, **_sparse(action)} for action in plan]

    def in_the_way(self) -> list[str]:
        """The blockers that readers are shown, by their codes."""
        found = standing_in_the_way(self.record, self.observation, self.policy, self.head, self.landing)
        return [blocker.code.value for blocker in found]


_FORM = TypeAdapter(Recorded)


def recorded(path: Path) -> Recorded:
    """The story of a file."""
    fields = json.loads(path.read_text("utf-8"))
    return _FORM.validate_python({k: v for k, v in fields.items() if k not in ("plan", "in_the_way")})


def text_of(story: Recorded) -> str:
    """A story's file, with what the code makes of it now."""
    fields = _sorted(_FORM.dump_python(story, mode="json", exclude_defaults=True, by_alias=True))
    fields |= {"plan": story.plan(), "in_the_way": story.in_the_way()}
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def _sparse(action: Any) -> dict[str, Any]:
    made = TypeAdapter(type(action)).dump_python(action, mode="json", exclude_defaults=True, by_alias=True)
    return dict(made)


def _sorted(value: Any) -> Any:
    """The same with sets in a fixed order: those of merge methods are the only ones."""
    if isinstance(value, dict):
        return {k: sorted(v) if k == "methods" else _sorted(v) for k, v in value.items()}
    return [_sorted(part) for part in value] if isinstance(value, list) else value


def _changed() -> Iterator[tuple[Path, str]]:
    for path in files():
        text = text_of(recorded(path))
        if text != path.read_text("utf-8"):
            yield path, text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="write the plans that the code yields now")
    write = parser.parse_args().write
    for path, text in _changed():
        print(f"{'written' if write else 'differs'}: {path.name}")
        if write:
            path.write_text(text, "utf-8")
