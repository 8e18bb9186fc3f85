"""Control calls about tokens, installations and names, for :class:`app.emulator.client.Emulator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Calls(Protocol):
    """What the groups of control calls need of the client."""

    def _post(self, path: str, **body: Any) -> Json: ...

    def _object(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json: ...


class IdentityCalls:
    """Tokens of every kind, accepted permissions, uninstalling, renaming and transferring."""

    def classic_token(
        self: Calls, user: str, scopes: Sequence[str] | None = None, lifetime_s: float | None = None
    ) -> str:
        """A classic personal token; without scopes it holds all of them."""
        chosen = None if scopes is None else list(scopes)
        return str(self._post("/tokens", user=user, kind="classic", scopes=chosen, lifetime_s=lifetime_s)["token"])

    def fine_grained_token(
        self: Calls,
        user: str,
        owner: str,
        permissions: Mapping[str, str],
        repositories: Sequence[str] | None = None,
        lifetime_s: float | None = None,
    ) -> str:
        """A fine-grained personal token for all or some of an owner's repositories."""
        made = self._post(
            "/tokens",
            user=user,
            kind="fine_grained",
            owner=owner,
            permissions=permissions,
            repositories=None if repositories is None else list(repositories),
            lifetime_s=lifetime_s,
        )
        return str(made["token"])

    def token_on_behalf(self: Calls, app: str, user: str) -> str:
        """A user-to-server token: the App acts for the person, within what both may."""
        return str(self._post("/tokens", user=user, kind="user_to_server", app=app)["token"])

    def revoke(self: Calls, token: str) -> None:
        """End a token at once."""
        self._post("/tokens/revoke", token=token)

    def delete_user(self: Calls, login: str) -> None:
        """Let a person delete the account; what it wrote stays."""
        self._object("DELETE", f"/users/{login}")

    def accept_permissions(self: Calls, installation: int) -> Json:
        """Let an installation accept what its App asks for now."""
        return self._post(f"/installations/{installation}/accept")

    def uninstall(self: Calls, installation: int) -> None:
        """Remove an installation as its account's owner does."""
        self._object("DELETE", f"/installations/{installation}")

    def rename_repo(self: Calls, full_name: str, name: str) -> Json:
        """Rename a repository; its old name leads on."""
        return self._post(f"/repos/{full_name}/rename", name=name)

    def transfer_repo(self: Calls, full_name: str, owner: str, name: str | None = None) -> Json:
        """Hand a repository to another owner, who has accepted it."""
        return self._post(f"/repos/{full_name}/transfer", owner=owner, name=name)

    def rename_account(self: Calls, login: str, new: str) -> Json:
        """Give a person or organization another login."""
        return self._post(f"/accounts/{login}/rename", login=new)

    def team(
        self: Calls,
        org: str,
        slug: str,
        members: Sequence[str] = (),
        maintainers: Sequence[str] = (),
        invited: Sequence[str] = (),
    ) -> Json:
        """A team of an organization with exactly these people; again, to change who is in it."""
        people = {"members": list(members), "maintainers": list(maintainers), "invited": list(invited)}
        return self._object("PUT", f"/orgs/{org}/teams/{slug}", people)

    def limits(self: Calls, **changes: Any) -> Json:
        """Switch secondary limits (`secondary`), change their bounds or the refusals' `status`; what holds now."""
        return self._post("/limits", **changes)

    # Checks

    def press(self: Calls, check_run: int, identifier: str, user: str) -> Json:
        """A person presses a button of a check-run."""
        return self._post(f"/check-runs/{check_run}/action", identifier=identifier, user=user)

    def rerun_check(self: Calls, check_run: int, user: str) -> Json:
        """A person presses "Re-run" at a check-run."""
        return self._post(f"/check-runs/{check_run}/rerun", user=user)
