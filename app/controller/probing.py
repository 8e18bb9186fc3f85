"""Looking whether an effect happened: each probe as the reads it takes.

An answer that GitHub does not give raises, and the look is taken again; what GitHub refuses to show is told.
"""

from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import assert_never

from app.controller.http_probe import HttpGet
from app.domain.effect import Effect
from app.domain.effect_probe import (
    BranchProbe,
    CannotTell,
    CheckRunProbe,
    CommentProbe,
    DeploymentProbe,
    HttpProbe,
    IssueProbe,
    NothingThere,
    Present,
    Probe,
    PullRequestProbe,
    ReleaseProbe,
    Sighting,
    TagProbe,
    read_probe,
)
from app.github.errors import Forbidden, NotFound, Validation
from app.github.evidence import Trace
from app.github.repository import Repository

BEFORE_INTENT = timedelta(minutes=2)
"""How much earlier than the intent a comment or Issue may be dated: clocks of others differ."""
_EVER = datetime(2008, 1, 1, tzinfo=UTC)


class Prober:
    """Runs probes: GitHub's through the App, outside addresses through `http`."""

    def __init__(self, http: HttpGet) -> None:
        self._http = http

    async def look(self, repo: Repository, effect: Effect) -> Sighting:
        """What shows of the effect now. Raises GitHubError where GitHub does not answer."""
        probe = read_probe(effect.probe)
        if probe is None:
            return CannotTell("it has no probe that this version understands")
        try:
            return await self._look(repo, effect, probe)
        except (Forbidden, NotFound, Validation) as refusal:
            return CannotTell(f"GitHub does not show it: {refusal.message}")

    async def _look(self, repo: Repository, effect: Effect, probe: Probe) -> Sighting:
        since = (effect.intended_at or _EVER) - BEFORE_INTENT
        match probe:
            case PullRequestProbe():
                pulls = await repo.find_pulls(probe.head, probe.base)
                return Present(f"PR #{pulls[0].number}", pulls[0].url) if pulls else _nothing("such pull request")
            case CommentProbe():
                author = probe.author or effect.login
                return await _trace(repo.written_comment(probe.number, probe.marker, author, since), "such comment")
            case IssueProbe():
                author = probe.author or effect.login
                return await _trace(repo.written_issue(probe.marker, author, since), "such Issue")
            case BranchProbe():
                return await _ref(repo, f"refs/heads/{probe.name}", probe.sha)
            case TagProbe():
                return await _ref(repo, f"refs/tags/{probe.name}", probe.sha)
            case ReleaseProbe():
                return await _trace(repo.published_release(probe.tag), "published release of the tag")
            case DeploymentProbe():
                return _ended(await repo.deployment(probe.environment, probe.sha), "deployment", {"success"})
            case CheckRunProbe():
                return _ended(await repo.named_check_run(probe.name, probe.sha), "check-run", None)
            case HttpProbe():
                return await self._http.look(probe)
            case _:
                assert_never(probe)


async def _trace(looking: Awaitable[Trace | None], what: str) -> Sighting:
    found = await looking
    return Present("it stands on GitHub", found.url) if found is not None else _nothing(what)


async def _ref(repo: Repository, name: str, sha: str | None) -> Sighting:
    found = await repo.exact_ref(name)
    if found is None:
        return _nothing(f"{name}")
    if sha is not None and found != sha:
        return CannotTell(f"{name} stands at {found}, not at {sha}")
    return Present(f"{name} stands at {found}", name)


def _ended(found: Trace | None, what: str, good: set[str] | None) -> Sighting:
    """A thing with a state. `good` None: any end will do, because it is the thing's existence that was wanted."""
    if found is None:
        return _nothing(f"such {what}")
    if not found.state:
        return NothingThere(f"the {what} stands and has not ended yet")
    if good is not None and found.state not in good:
        return CannotTell(f"the {what} stands and says {found.state}")
    return Present(f"the {what} says {found.state}", found.url)


def _nothing(what: str) -> NothingThere:
    return NothingThere(f"GitHub shows no {what}")
