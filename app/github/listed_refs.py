"""Many refs in one exchange of git's own protocol. REST lists them a hundred a page, and GraphQL only knows branches
and tags.
"""

from collections.abc import AsyncIterator

from app.domain.branches import BEFORE_A_NUMBER
from app.domain.observation import Branch
from app.github.access import RepositoryAccess
from app.github.errors import ServerError
from app.github.pkt import FLUSH, packet, packets
from app.github.refs import RefValue

_UPLOAD_PACK = "/{owner}/{repo}.git/git-upload-pack"
_DELIMITER = b"0001"
_LONGEST_LIST = 32 * 1024 * 1024


class ListedRefs(RepositoryAccess):
    """Listing refs by the beginnings of their names."""

    async def branches_of_ticket(self, ticket: int) -> list[Branch]:
        """All branches whose names begin as the branch grammar has it, and others that begin alike. For a repository
        where so many names hold the number that a search does not show them all.
        """
        values = await self.refs_below(*(f"refs/heads/{before}{ticket}" for before in BEFORE_A_NUMBER))
        return [Branch(value.name.removeprefix("refs/heads/"), value.sha) for value in values]

    async def refs_below(self, *prefixes: str) -> list[RefValue]:
        """All refs whose full names begin with one of the prefixes, as git's server shows them in one answer: of one
        moment, and however many there are.
        """
        arguments = b"".join(packet(f"ref-prefix {prefix}\n".encode()) for prefix in prefixes)
        body = packet(b"command=ls-refs\n") + _DELIMITER + arguments + FLUSH
        answer = await self.session.git_open(
            "POST",
            f"{self.clone_url}/git-upload-pack",
            route=_UPLOAD_PACK,
            headers={
                "Content-Type": "application/x-git-upload-pack-request",
                "Accept": "application/x-git-upload-pack-result",
                "Git-Protocol": "version=2",
            },
            content=_Body(body),
        )
        raw = await answer.whole(_LONGEST_LIST)
        if not raw.endswith(FLUSH):
            raise ServerError("the list of refs is cut short", route=_UPLOAD_PACK)
        values = [_ref(line) for line in packets(raw)]
        return [value for value in values if value.name.startswith(prefixes)]


class _Body:
    """The request, as often as it has to be sent."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


def _ref(line: bytes) -> RefValue:
    """`<oid> <name>`; what follows are attributes nobody asked for. Raises ServerError."""
    sha, _, rest = line.decode("utf-8", "surrogateescape").rstrip("\n").partition(" ")
    name = rest.partition(" ")[0]
    if len(sha) != 40 or not name.startswith("refs/"):
        raise ServerError("the answer is no list of refs", route=_UPLOAD_PACK)
    return RefValue(name, sha)
