"""The commands by which an agent comes to a ticket: `claim`, `recover`, `brief`.

`claim` and `recover` make the folder they are called in the workspace, so what stands above it tells them nothing.
"""

from pathlib import Path
from typing import Any

from app.agent import claiming, environment, held, recovery, resuming, show
from app.agent.api import Service
from app.agent.home import Home
from app.agent.way_in import read_brief, way_in
from app.agent.workspace import Workspace
from app.domain.agent_api import Grant
from app.domain.brief import Brief
from app.domain.plain_text import is_one_line


def claim(
    ticket: str | None, repo: str | None, trunk: str | None, holder: str, *, dry_run: bool, as_json: bool
) -> None:
    """`agent-recovery claim`."""
    home = Home.at(Path.cwd())
    wish = _wish(home, ticket, repo, trunk, holder)
    way = way_in(wish.service_url)
    with Service(wish.service_url, wish.repository, wish.ticket) as service:
        if dry_run:
            claiming.refuse_other_ticket(home, wish)
            _show_prospect(_prospect(read_brief(service, way)), as_json)
            return
        lease, grant = claiming.claim(home, service, wish, way, lambda: None)
    Workspace(home).ignore_home()
    if as_json:
        show.data({"grant": public(grant), "brief": grant.brief.model_dump(mode="json")})
        return
    show.say(
        f"claimed {wish.repository}#{lease.ticket}: generation {lease.generation}, "
        f"until {grant.expires_at:%H:%M:%S} UTC"
    )
    show.say(f"branch {lease.branch}, start from {lease.head_sha}, trunk {lease.trunk}")


def recover(
    ticket: str | None, repo: str | None, trunk: str | None, holder: str, *, dry_run: bool, as_json: bool
) -> None:
    """`agent-recovery recover`."""
    home = Home.at(Path.cwd())
    wish = _wish(home, ticket, repo, trunk, holder)
    way = way_in(wish.service_url)
    with Service(wish.service_url, wish.repository, wish.ticket) as service:
        if dry_run:
            claiming.refuse_other_ticket(home, wish)
            _show_prospect(recovery.look_only(home, read_brief(service, way)), as_json)
            return
        done = recovery.recover(home, service, wish, way)
    failed = [run for run in done.runs if run.exit_code != 0]
    if done.state.normalised:
        show.warn(
            f"the checkout itself normalises {len(done.state.normalised)} files, first {done.state.normalised[0]}"
        )
    if done.resumed is not None:
        resuming.warn_of_base(done.resumed)
    for run in failed:
        show.warn(f"verify command ended with {run.exit_code}: {' '.join(run.command)}")
    if as_json:
        show.data(
            {
                "grant": public(done.grant),
                "brief": done.grant.brief.model_dump(mode="json"),
                "workspace": {
                    "path": str(home.root),
                    "branch": done.grant.branch,
                    "head_sha": done.state.head,
                    "clean": done.state.clean,
                    "normalised": list(done.state.normalised),
                    "verify": [run.model_dump(mode="json") for run in done.runs],
                },
                "evidence": done.evidence.model_dump(mode="json") if done.evidence else None,
                "resumed": resuming.as_data(done.resumed) if done.resumed else None,
            }
        )
        return
    show.markdown(_markdown(done.grant.brief))
    print()
    show.say(
        f"generation {done.grant.generation}; workspace {'clean ' if done.state.clean else ''}at {done.state.head} "
        f"on {done.grant.branch}; edit .agent-recovery/next.json as you work, then `agent-recovery push`"
    )


def brief(ticket: str | None, repo: str | None, *, as_json: bool, as_markdown: bool) -> None:
    """`agent-recovery brief`."""
    home = Home.find(Path.cwd())
    wish = _wish(home, ticket, repo, None, "reader")
    with Service(wish.service_url, wish.repository, wish.ticket) as service:
        found = read_brief(service, way_in(wish.service_url))
    if as_json:
        show.data(found.model_dump(mode="json"))
    elif as_markdown:
        show.plain_markdown(_markdown(found))
    else:
        show.markdown(_markdown(found))


def public(grant: Grant) -> dict[str, Any]:
    """The grant without its token (and without the brief, which stands beside it)."""
    return grant.model_dump(mode="json", exclude={"lease_token", "brief"})


def _wish(home: Home, ticket: str | None, repo: str | None, trunk: str | None, holder: str) -> claiming.Wish:
    if not is_one_line(holder):
        raise environment.usage(
            "the holder's label is not one printable line",
            "pass --holder (or set AGENT_RECOVERY_HOLDER) as one short line",
        )
    lease = home.load(held.FILE, held.HeldLease)
    return claiming.Wish(
        service_url=environment.service_url(lease.service_url if lease else None),
        repository=environment.repository(repo, lease.repository if lease else None),
        ticket=environment.ticket(ticket, lease.ticket if lease else None),
        trunk=trunk,
        holder=holder,
    )


def _markdown(found: Brief) -> str:
    from app.domain.compose_brief import render_markdown

    return render_markdown(found)


def _prospect(found: Brief) -> dict[str, Any]:
    return {
        "claimable": found.claimable,
        "claimable_because": found.claimable_because,
        "observed_generation": found.generation,
    }


def _show_prospect(prospect: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show.data({"dry_run": prospect})
        return
    verdict = "claimable" if prospect["claimable"] else "not claimable"
    show.say(f"dry run: {verdict} ({prospect['claimable_because']}); generation {prospect['observed_generation']}")
