"""OIDC tokens of workflow runs: who may ask for one, what it claims, and the keys to check it by.

Source: docs.github.com, "OpenID Connect reference". The issuer is the emulator's own address; GitHub's is
``https://token.actions.githubusercontent.com``. A token is good for five minutes and for ten minutes back.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.emulator.actions_state import WorkflowRun
from app.emulator.errors import ApiError
from app.emulator.routing import Request, Response
from app.emulator.state import Repository
from app.emulator.world import World, key_pair

LIFETIME_S = 300
BACKDATED_S = 600
IDS_SINCE = "2026-07-15T00:00:00Z"
_TOKEN_PATH = re.compile(r"/_services/idtoken/(\d+)/(\d+)\Z")
_CLAIMS = [
    "sub",
    "aud",
    "exp",
    "iat",
    "iss",
    "jti",
    "nbf",
    "ref",
    "sha",
    "repository",
    "repository_id",
    "repository_owner",
    "repository_owner_id",
    "repository_visibility",
    "run_id",
    "run_number",
    "run_attempt",
    "actor",
    "actor_id",
    "workflow",
    "workflow_ref",
    "workflow_sha",
    "head_ref",
    "base_ref",
    "event_name",
    "ref_protected",
    "ref_type",
    "job_workflow_ref",
    "job_workflow_sha",
    "runner_environment",
]


def serves(path: str) -> bool:
    """Is this a path of the token service?"""
    return path.startswith("/.well-known/") or _TOKEN_PATH.match(path) is not None


def serve(request: Request) -> Response:
    """Answer a request to the token service. Raises 401 and 404."""
    world = request.world
    if request.path == "/.well-known/openid-configuration":
        return Response.json(configuration(world.url))
    if request.path == "/.well-known/jwks":
        return Response.json({"keys": [public_key(world)]})
    found = _TOKEN_PATH.match(request.path)
    if found is None:
        raise ApiError(404, "Not Found")
    run = world.actions.runs.get(int(found[1]))
    secret = run.attempt.oidc_secret if run is not None else None
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if run is None or secret is None or scheme.lower() != "bearer" or given.strip() != secret:
        raise ApiError(401, "Unauthorized")
    audience = request.query.get("audience") or f"{world.url}/{run.repo.owner.login}"
    return Response.json({"count": 1, "value": sign(world, claims(world, run, audience))})


def configuration(url: str) -> dict[str, Any]:
    """The discovery document."""
    return {
        "issuer": url,
        "jwks_uri": f"{url}/.well-known/jwks",
        "subject_types_supported": ["public", "pairwise"],
        "response_types_supported": ["id_token"],
        "claims_supported": _CLAIMS,
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid"],
    }


def claims(world: World, run: WorkflowRun, audience: str) -> dict[str, Any]:
    """What a token of the run's present attempt claims; every number of GitHub's is a text."""
    repo, now = run.repo, int(world.clock.now())
    workflow_ref = f"{repo.full_name}/{run.workflow.path}@{run.ref}"
    return {
        "jti": str(uuid.uuid4()),
        "sub": subject(world, repo, run.ref),
        "aud": audience,
        "ref": run.ref,
        "sha": run.head_sha,
        "repository": repo.full_name,
        "repository_id": str(repo.id),
        "repository_owner": repo.owner.login,
        "repository_owner_id": str(repo.owner.id),
        "repository_visibility": "private" if repo.private else "public",
        "run_id": str(run.id),
        "run_number": str(run.number),
        "run_attempt": str(run.attempt.number),
        "actor": run.actor.login,
        "actor_id": str(run.actor.id),
        "workflow": run.workflow.name,
        "workflow_ref": workflow_ref,
        "workflow_sha": run.head_sha,
        "head_ref": "",
        "base_ref": "",
        "event_name": run.event,
        "ref_protected": "false",
        "ref_type": "branch" if run.ref.startswith("refs/heads/") else "tag",
        "job_workflow_ref": workflow_ref,
        "job_workflow_sha": run.head_sha,
        "runner_environment": "github-hosted",
        "iss": world.url,
        "nbf": now - BACKDATED_S,
        "exp": now + LIFETIME_S,
        "iat": now,
    }


def subject(world: World, repo: Repository, ref: str) -> str:
    """The ``sub`` of a run: with the ids beside the names for a repository that was made, renamed or transferred since
    July 2026 (changelog of 2026-04-23, github/docs#45221), so that nobody inherits it with a name."""
    if max(repo.created_at, world.moved_at.get(repo.id, "")) < IDS_SINCE:
        return f"repo:{repo.full_name}:ref:{ref}"
    return f"repo:{repo.owner.login}@{repo.owner.id}/{repo.name}@{repo.id}:ref:{ref}"


def sign(world: World, body: dict[str, Any]) -> str:
    """The token of these claims."""
    key, public = _keys(_private_pem(world))
    return jwt.encode(body, key, "RS256", headers={"kid": public["kid"]})


def public_key(world: World) -> dict[str, str]:
    """The key tokens are checked by, as a JWK."""
    return dict(_keys(_private_pem(world))[1])


@cache
def _keys(pem: str) -> tuple[rsa.RSAPrivateKey, dict[str, str]]:
    """Reading a key proves it, which takes a tenth of a second."""
    key = serialization.load_pem_private_key(pem.encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    numbers = key.public_key().public_numbers()
    facts = {"kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
    kid = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:40]
    return key, facts | {"alg": "RS256", "use": "sig", "kid": kid}


def _private_pem(world: World) -> str:
    if world.actions.oidc_pem is None:
        # An index no App has: Apps count from zero.
        world.actions.oidc_pem = key_pair(-1)[0]
    return world.actions.oidc_pem


def _number(value: int) -> str:
    return base64.urlsafe_b64encode(value.to_bytes((value.bit_length() + 7) // 8, "big")).decode().rstrip("=")
