"""Git objects made through the API: unreachable until a ref points to them, so a repetition does no harm."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from app.domain.model import instant_text
from app.github.access import RepositoryAccess
from app.github.shapes import CommitShape, ObjectShape, read
from app.github.wire import Call
from app.ledger.codec import Author

_COMMIT = "/repos/{owner}/{repo}/git/commits/{sha}"
AUTHOR = Author()
"""The same the ledger's codec computes with: the SHA is known before GitHub makes the object."""


class Objects(RepositoryAccess):
    """Trees and commits. All writes here have the same three answers. Done but not heard: the object lies unreachable
    and the same content sent again is the same object. Two of us: the same object. Our lease is gone: an object
    entitles nobody to anything; the ref decides.
    """

    async def create_tree(self, files: Mapping[str, str]) -> str:
        """The SHA of a tree of regular files, path → text. Raises GitHubError."""
        entries = [
            {"path": path, "mode": "100644", "type": "blob", "content": text} for path, text in sorted(files.items())
        ]
        return await self._object("trees", {"tree": entries})

    async def create_commit(
        self, tree: str, parents: Sequence[str], message: str, when: datetime, author: Author = AUTHOR
    ) -> str:
        """The SHA of a commit with this author as committer too, both at `when` (UTC, whole seconds)."""
        person = {"name": author.name, "email": author.email, "date": instant_text(when)}
        body = {"message": message, "tree": tree, "parents": list(parents), "author": person, "committer": person}
        return await self._object("commits", body)

    async def tree_of(self, commit: str) -> str:
        """The SHA of a commit's tree. Raises NotFound and other GitHubErrors."""
        answer = await self.session.get(_COMMIT, self._at(sha=commit))
        return read(CommitShape, answer.body, Call("GET", _COMMIT)).tree.sha

    async def _object(self, kind: str, body: Mapping[str, object]) -> str:
        route = "/repos/{owner}/{repo}/git/" + kind
        answer = await self.session.write("POST", route, self._at(), body)
        return read(ObjectShape, answer.body, Call("POST", route, writes=True)).sha
