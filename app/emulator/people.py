"""Who somebody is to a repository, as GitHub words it: by e-mail, by association, by role."""

from app.emulator.state import Account, Repository
from app.emulator.world import World

# Who commits what is made on GitHub itself.
_WEB_FLOW = Account(19864447, "web-flow", "User", "2016-06-01T00:00:00Z", "GitHub Web Flow")


def account_of(world: World, email: str) -> Account | None:
    """The account an e-mail address of a commit belongs to, as GitHub matches it."""
    if email == "noreply@github.com":
        return _WEB_FLOW
    return next((a for a in world.accounts.values() if a.email == email), None)


def association(repo: Repository, account: Account) -> str:
    """``author_association``: the owner, a collaborator, or none of them."""
    if account is repo.owner:
        return "OWNER"
    return "COLLABORATOR" if account.login.lower() in repo.collaborators else "NONE"


def role_flags(role: str) -> dict[str, bool]:
    """A role as the ``permissions`` object of a repository."""
    order = ("read", "triage", "write", "maintain", "admin")
    rank = order.index(role) if role in order else -1
    names = {"pull": 0, "triage": 1, "push": 2, "maintain": 3, "admin": 4}
    return {name: rank >= needed for name, needed in names.items()}
