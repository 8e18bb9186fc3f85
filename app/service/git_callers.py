"""Who calls the git endpoint: a holder, with the lease token as the password of HTTP basic authentication."""

import base64
import binascii
from collections.abc import Mapping

from app.domain import token as lease_token
from app.domain.outcome import Blocked, Code, Refused
from app.domain.token import Claims, Forged

_LONGEST = 4096
_WAY_ON = "give git the lease_token of your claim as the password; any user name will do"


def git_holder(authorization: str | None, lease_keys: Mapping[str, bytes]) -> Claims:
    """What a genuine lease token says; whether it is the present lease, the ledger decides. Raises Refused."""
    claims = lease_token.verify(_password(authorization), lease_keys)
    if isinstance(claims, Forged):
        raise _unauthenticated(claims.reason)
    return claims


def _password(authorization: str | None) -> str:
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic" or len(encoded) > _LONGEST:
        raise _unauthenticated("git is served to holders of a lease only")
    try:
        pair = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise _unauthenticated("the credentials cannot be read") from None
    password = pair.partition(":")[2]
    if not password.startswith(lease_token.PREFIX):
        raise _unauthenticated("the password is no lease token")
    return password


def _unauthenticated(reason: str) -> Refused:
    return Refused(Blocked(Code.UNAUTHENTICATED, reason, _WAY_ON))
