"""How REST answers and webhook payloads show releases, deployments and their statuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.emulator.shipping_state import Deployment, DeploymentStatus, Release
from app.emulator.state import Account, App

if TYPE_CHECKING:
    from app.emulator.world import World

Json = dict[str, Any]


class ShippingRender:
    """The part of the renderer that shows what is shipped; the rest of it is in :mod:`app.emulator.render`."""

    world: World
    html: str
    api: str

    if TYPE_CHECKING:

        def account(self, account: Account) -> Json: ...

        def app_or_none(self, app: App | None) -> Json | None: ...

    def release(self, release: Release) -> Json:
        """A release; a draft's page is named by what no tag is."""
        api, html = (f"{root}/repos/{release.repo.full_name}/releases" for root in (self.api, self.html))
        page = f"untagged-{release.id:x}" if release.draft else quote(release.tag, safe="/")
        shown: Json = {
            "url": f"{api}/{release.id}",
            "assets_url": f"{api}/{release.id}/assets",
            "upload_url": f"{api}/{release.id}/assets{{?name,label}}",
            "html_url": f"{self.html}/{release.repo.full_name}/releases/tag/{page}",
            "id": release.id,
            "author": self.account(release.author),
            "node_id": release.node_id,
            "tag_name": release.tag,
            "target_commitish": release.target,
            "name": release.name,
            "draft": release.draft,
            "immutable": False,
            "prerelease": release.prerelease,
            "created_at": release.created_at,
            "updated_at": release.updated_at,
            "published_at": release.published_at,
            "assets": [],
            "tarball_url": None,
            "zipball_url": None,
            "body": release.body,
        }
        if not release.draft:
            archive = html.removesuffix("/releases")
            shown["tarball_url"] = f"{archive}/tarball/{quote(release.tag)}"
            shown["zipball_url"] = f"{archive}/zipball/{quote(release.tag)}"
        return shown

    def deployment(self, deployment: Deployment) -> Json:
        """A deployment."""
        root = f"{self.api}/repos/{deployment.repo.full_name}"
        return {
            "url": f"{root}/deployments/{deployment.id}",
            "id": deployment.id,
            "node_id": deployment.node_id,
            "task": deployment.task,
            "original_environment": deployment.environment,
            "environment": deployment.environment,
            "description": deployment.description,
            "created_at": deployment.created_at,
            "updated_at": deployment.updated_at,
            "statuses_url": f"{root}/deployments/{deployment.id}/statuses",
            "repository_url": root,
            "creator": self.account(deployment.creator),
            "sha": deployment.sha,
            "ref": deployment.ref,
            "payload": deployment.payload,
            "transient_environment": deployment.transient,
            "production_environment": deployment.production,
            "performed_via_github_app": self.app_or_none(deployment.app),
        }

    def deployment_status(self, deployment: Deployment, status: DeploymentStatus) -> Json:
        """One status of a deployment."""
        root = f"{self.api}/repos/{deployment.repo.full_name}"
        return {
            "url": f"{root}/deployments/{deployment.id}/statuses/{status.id}",
            "id": status.id,
            "node_id": deployment.status_node_id(status),
            "state": status.state,
            "creator": self.account(status.creator),
            "description": status.description,
            "environment": status.environment,
            "target_url": status.log_url,
            "log_url": status.log_url,
            "environment_url": status.environment_url,
            "created_at": status.created_at,
            "updated_at": status.created_at,
            "deployment_url": f"{root}/deployments/{deployment.id}",
            "repository_url": root,
            "performed_via_github_app": self.app_or_none(status.app),
        }
