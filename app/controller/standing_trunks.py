"""Which trunks stand in a repository: every branch that the policy's patterns mean, listed by how they begin."""

import asyncio

from app.domain.observation import Branch
from app.domain.policy import Policy
from app.domain.trunks import is_trunk, literal_prefixes
from app.github.repository import Repository


async def standing_trunks(repo: Repository, policy: Policy) -> tuple[Branch, ...]:
    """The branches that are trunks by the policy. One request for each beginning of a pattern. Raises GitHubError."""
    found = await asyncio.gather(*(repo.find_branches(prefix) for prefix in literal_prefixes(policy.trunks)))
    named = {branch.name: branch for branches in found for branch in branches}
    return tuple(b for b in named.values() if is_trunk(b.name, policy.trunks, repo.default_branch))
