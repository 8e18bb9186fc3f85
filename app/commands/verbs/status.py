"""A short view of a ticket's record, or of what the guard says of a release."""

from collections.abc import Iterator, Sequence

from app.commands.telling import told
from app.commands.verb import ANYWHERE, Actions, Answered, Permission, Said, Verb
from app.commands.words import no_words, ticket_and_words
from app.domain.brief import Brief
from app.domain.model import instant_text
from app.domain.plain_text import cut, one_line
from app.domain.untrusted import inline

MOST_SHOWN = 5
LINE_BYTES = 300


class Status:
    name = "status"
    usage = "status"
    help = (
        "Shows holder, generation, status, next steps, blockers and unsettled effects of a ticket; of a release, what "
        "the guard says."
    )
    needs = ""
    permission = Permission.READ
    works_on = ANYWHERE
    late_ok = True

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        if said.release is not None:
            no_words(said.command.args, self.name)
            return Answered(await act.release_status(said.owner, said.name, said.number))
        ticket, words = ticket_and_words(said)
        no_words(words, self.name)
        brief = await act.brief(said.owner, said.name, ticket)
        return Answered("\n".join(_lines(brief)))


def _lines(brief: Brief) -> Iterator[str]:
    holder = "nobody"
    if brief.holder is not None and brief.lease_expires_at is not None:
        holder = f"{inline(brief.holder, 80)} until {instant_text(brief.lease_expires_at)}"
    yield f"**Ticket #{brief.ticket}** is {brief.status}, generation {brief.generation}, held by {holder}."
    yield ""
    work = brief.work
    if work.branch is not None:
        at = f" at {work.published_sha}" if work.published_sha else ", nothing published yet"
        pull = f", PR #{work.pr_number} ({(work.pr_state or 'not seen').lower()})" if work.pr_number else ""
        yield f"- Work: {inline(work.branch, LINE_BYTES)} to {inline(work.trunk or '?', LINE_BYTES)}{at}{pull}"
    claim = "yes" if brief.claimable else "no"
    yield f"- Can be claimed: {claim}, {told(cut(one_line(brief.claimable_because), LINE_BYTES))}"
    yield f"- Steps done: {len(brief.completed_steps)}"
    yield from _listed("Next", [step.text for step in brief.next_steps])
    yield from _listed("Waits for", brief.pending_validation)
    yield from _listed("Blocked by", brief.blockers)
    yield from _listed("Effect", tuple(_effects(brief)))


def _effects(brief: Brief) -> Iterator[str]:
    """Those that are not settled, by the keys that are approved, denied or resolved."""
    for finding in brief.findings:
        for effect in finding.evidence.get("effects", ()):
            yield f"{effect['key']} ({effect['kind']}) is {effect['state']}"


def _listed(head: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts[:MOST_SHOWN]:
        yield f"- {head}: {told(cut(one_line(text), LINE_BYTES))}"
    if len(texts) > MOST_SHOWN:
        yield f"- {head}: {len(texts) - MOST_SHOWN} more"


VERB: Verb = Status()
