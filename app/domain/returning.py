"""How an ended ticket comes back: at a person's word, or, where it has landed, with its Issue opened again. The next
claim then begins another life of it, in the generation after the last (the ownership protocol, R10 and R11). Nothing
brings it back by itself.
"""

from app.domain.observation import Observation
from app.domain.policy import Policy
from app.domain.record import Attempts, Landing, Projections, Record


def may_return(record: Record) -> bool:
    """Whether, with its Issue open, the next claim brings the ended ticket back. A landed one whose Issue is open was
    reopened by a person. One that was cancelled, however that came, or abandoned waits for a person's `recover`: an
    Issue or a PR that is opened again says nothing of the kind. A child waits for its ticket's holder.
    """
    if record.child is not None:
        return False
    if record.status == "landed":
        return True
    return record.ended is not None and record.ended.recalled is not None


def brought_back(record: Record, observation: Observation, policy: Policy, *, has_command: bool) -> Record | None:
    """What an ended ticket that a person lets go on begins with where the App starts its agents: another life that
    nobody holds, for which one is started. None where the next claim brings it back, or nobody said so.
    """
    recalled = record.ended.recalled if record.ended is not None else None
    dispatch = policy.resume.dispatch if policy.resume.enabled else "none"
    starts = dispatch != "none" and (dispatch != "command" or has_command)
    issue = observation.issue
    if recalled is None or not starts or record.status == "landed" or issue is None or issue.state != "OPEN":
        return None
    again = {"generation": record.generation + 1, "intent": recalled}
    return returned(record, observation).model_copy(update=again)


def returned(record: Record, observation: Observation) -> Record:
    """What another life of the ticket begins with, before its claim. Effects and their keys, burned commits, permits
    and what was learned stay; of the delivered work nothing is done again: where the merged branch still stands the
    work goes on from it, else from the trunk. A PR that is not open any more is not this life's.
    """
    landed = record.status == "landed"
    head = observation.branch(record.work.branch) if record.work is not None else None
    # Of a pruned ticket no commit was kept, and its trunk may be long gone: its work is found anew.
    published, work = record.published, record.work if record.pruned is None else None
    if landed and published is not None and work is not None:
        stands = head is not None and head.sha == published.sha
        work = work.model_copy(update={"base_sha": published.sha}) if stands else work
        published = published if stands else None
    return record.model_copy(
        update={
            "status": "unclaimed",
            "lease": None,
            "attempts": Attempts(),
            "ended": None,
            "stopped": None,
            "pruned": None,
            "landing": Landing(),
            "fence": None,
            "held": None,
            "work": work,
            "published": published,
            "projections": _projections(record, observation, landed),
        }
    )


def _projections(record: Record, observation: Observation, landed: bool) -> Projections:
    at = record.projections
    pull = next((p for p in observation.pulls if p.number == at.pr_number), None)
    return at if not landed and pull is not None and pull.state == "OPEN" else Projections()
