"""The policy in force in a repository; what it takes to find the last valid one is read once for each head of the
default branch, and only while its file cannot be used.
"""

from collections import OrderedDict

from app.domain.observation import Observation
from app.domain.policy import PATH, Policy
from app.domain.policy_in_force import InForce, OlderPolicy, PolicyVersion, last_valid
from app.domain.policy_text import PolicyReading, read_policy
from app.github.policy_history import NOT_TEXT, TEXTS_AT_ONCE, FileAt
from app.github.repository import Repository

MAX_PAGES = 5
"""Of a hundred commits each. A file that nobody mends for longer than that leaves no policy in force."""
_KEPT = 256


class Policies:
    """Keeps what it found, for a bounded number of repositories; losing it costs the requests again."""

    def __init__(self) -> None:
        self._found: OrderedDict[int, tuple[str, OlderPolicy | None]] = OrderedDict()
        self._assumed: dict[int, Policy] = {}

    def assume(self, repository_id: int, policy: Policy) -> None:
        """Take this for the policy in force from now on."""
        self._assumed[repository_id] = policy

    async def in_force(self, repo: Repository, observation: Observation) -> InForce:
        """The policy in force at this look. Raises GitHubError where GitHub does not answer."""
        if repo.id in self._assumed:
            return InForce(PolicyReading(self._assumed[repo.id]))
        reading = read_policy(observation.policy_text)
        head = observation.default_head
        if reading.policy is not None or observation.policy_text is None or head is None:
            return InForce(reading)
        known = self._found.get(repo.id)
        if known is None or known[0] != head:
            known = (head, await self._look_back(repo, head, known))
            self._found[repo.id] = known
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return InForce(reading, known[1])

    async def _look_back(
        self, repo: Repository, head: str, known: tuple[str, OlderPolicy | None] | None
    ) -> OlderPolicy | None:
        """Along first parents: what came with a merge never stood on the branch itself."""
        judged_at = known[0] if known is not None else None
        wanted: str | None = head
        after: str | None = None
        for _ in range(MAX_PAGES):
            page = await repo.policy_line(head, PATH, after)
            here = {commit.commit: commit for commit in page.commits}
            line: list[FileAt] = []
            while wanted is not None and wanted in here and wanted != judged_at:
                line.append(here[wanted])
                wanted = here[wanted].first_parent
            versions = await _versions(repo, line)
            older = last_valid(versions)
            if older is not None or any(version.text is None for version in versions):
                return older
            if known is not None and wanted == judged_at:
                return known[1]
            if wanted is None or page.cursor is None:
                return None
            after = page.cursor
        return None


async def _versions(repo: Repository, line: list[FileAt]) -> list[PolicyVersion]:
    """The line with its texts, as far back as to where the file was not there."""
    there = line[: next((n + 1 for n, at in enumerate(line) if at.blob is None), len(line))]
    blobs = list(dict.fromkeys(at.blob for at in there if at.blob is not None))
    texts: dict[str, str] = {}
    for start in range(0, len(blobs), TEXTS_AT_ONCE):
        texts |= await repo.blob_texts(blobs[start : start + TEXTS_AT_ONCE])
    return [PolicyVersion(at.commit, texts.get(at.blob, NOT_TEXT) if at.blob is not None else None) for at in there]
