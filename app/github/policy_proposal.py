"""What proposing a policy needs: the repository's labels, and a branch whose one commit adds one file."""

from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.errors import Validation
from app.github.shapes import Named, ObjectShape, read
from app.github.wire import Call

_LABELS = "/repos/{owner}/{repo}/labels"
_COMMIT = "/repos/{owner}/{repo}/git/commits/{sha}"
_TREES = "/repos/{owner}/{repo}/git/trees"
_COMMITS = "/repos/{owner}/{repo}/git/commits"
_REFS = "/repos/{owner}/{repo}/git/refs"


class _Commit(Message):
    tree: ObjectShape


class PolicyProposals(RepositoryAccess):
    """One file on a branch of its own."""

    async def label_names(self) -> tuple[str, ...]:
        """The names of all labels. Raises GitHubError."""
        pages = await self.session.pages(_LABELS, self._at())
        return tuple(one.name for page in pages for one in read(list[Named], page.body, Call("GET", _LABELS)))

    async def commit_with_file(self, parent: str, path: str, text: str, message: str) -> str:
        """The SHA of a commit on `parent` that differs from it by this one file. Its author is the App, so that GitHub
        signs it. Raises GitHubError.

        Done but not heard: the objects lie unreachable. Two of us: another commit of the same content; the branch
        decides. Lease gone: none is involved, and an object entitles nobody to anything.
        """
        answer = await self.session.get(_COMMIT, self._at(sha=parent))
        base = read(_Commit, answer.body, Call("GET", _COMMIT)).tree.sha
        entry = {"path": path, "mode": "100644", "type": "blob", "content": text}
        answer = await self.session.write("POST", _TREES, self._at(), {"base_tree": base, "tree": [entry]})
        tree = read(ObjectShape, answer.body, Call("POST", _TREES, writes=True)).sha
        body = {"message": message, "tree": tree, "parents": [parent]}
        answer = await self.session.write("POST", _COMMITS, self._at(), body)
        return read(ObjectShape, answer.body, Call("POST", _COMMITS, writes=True)).sha

    async def create_branch(self, name: str, sha: str) -> bool:
        """Make a branch; False where one of the name stands. Raises Validation with GitHub's words where a rule forbids
        it, Unanswered where it may stand now, other GitHubErrors.

        Done but not heard: reading the branch shows it. Two of us: GitHub refuses the second. Lease gone: none is
        involved.
        """
        try:
            await self.session.write("POST", _REFS, self._at(), {"ref": f"refs/heads/{name}", "sha": sha})
        except Validation as refusal:
            if any("already exists" in sentence.lower() for sentence in refusal.sentences):
                return False
            raise
        return True
