"""Probes: how to look whether an effect happened, as a closed set of questions, and what an answer makes of it.

A probe that finds the effect confirms it. One that finds nothing says nothing: a request may still be carried out
later (the ownership protocol, R5). What only partly fits is for a person.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from app.domain.model import Message, Sha
from app.domain.plain_text import is_one_line
from app.domain.secret_shapes import redact

MAX_PROBE_BYTES = 700
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=24)


def _plain(text: str) -> str:
    if not is_one_line(text):
        raise ValueError("not one printable line")
    if redact(text).kinds:
        raise ValueError("holds what looks like a secret, and everybody can read the ledger")
    return text


def _ref_name(text: str) -> str:
    if text.startswith(("/", "-")) or any(bad in text for bad in ("..", " ", "~", "^", ":", "?", "*", "[", "\\", "@{")):
        raise ValueError("is not the name of a ref")
    return text


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "https" and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or "@" in text.partition("//")[2].partition("/")[0] or "#" in text or not text.isascii():
        raise ValueError("must be an https address without user name, password or fragment")
    return text


Text = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]
RefName = Annotated[Text, AfterValidator(_ref_name)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class _Probe(Message):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PullRequestProbe(_Probe):
    """A pull request of this repository with exactly this head and base, in any state."""

    type: Literal["pull_request"] = "pull_request"
    head: RefName
    base: RefName


class CommentProbe(_Probe):
    """A comment on this Issue or PR whose text holds the marker, written by `author` (by default the account that holds
    the lease) or by our App: anybody else can write a marker too.
    """

    type: Literal["comment"] = "comment"
    number: Number
    marker: Text
    author: Text | None = None


class IssueProbe(_Probe):
    """An Issue of this repository whose text holds the marker, by the same authors."""

    type: Literal["issue"] = "issue"
    marker: Text
    author: Text | None = None


class BranchProbe(_Probe):
    """A branch of this name, at this commit where one is named."""

    type: Literal["branch"] = "branch"
    name: RefName
    sha: Sha | None = None


class TagProbe(_Probe):
    """A tag of this name, at this object where one is named."""

    type: Literal["tag"] = "tag"
    name: RefName
    sha: Sha | None = None


class ReleaseProbe(_Probe):
    """A published release of this tag."""

    type: Literal["release"] = "release"
    tag: RefName


class DeploymentProbe(_Probe):
    """A deployment of this commit to this environment, one of whose statuses says success."""

    type: Literal["deployment"] = "deployment"
    environment: Text
    sha: Sha


class CheckRunProbe(_Probe):
    """A completed check-run of this name on this commit, by whatever App and however it ended."""

    type: Literal["check_run"] = "check_run"
    name: Text
    sha: Sha


class HttpProbe(_Probe):
    """A GET answers 2xx, and its text holds `contains` where that is named; 404 and 410 mean nothing is there. Only
    https, only hosts that the operator of the service allowed, no redirects.
    """

    type: Literal["http"] = "http"
    url: Annotated[Text, AfterValidator(_address)]
    contains: Text | None = None


Probe = Annotated[
    PullRequestProbe
    | CommentProbe
    | IssueProbe
    | BranchProbe
    | TagProbe
    | ReleaseProbe
    | DeploymentProbe
    | CheckRunProbe
    | HttpProbe,
    Field(discriminator="type"),
]
PROBES: TypeAdapter[Probe] = TypeAdapter(Probe)


def read_probe(stored: dict[str, Any] | None) -> Probe | None:
    """The probe that a record holds; None where there is none, or none that this version understands. A holder may
    have pushed anything, so it is checked like a request.
    """
    if stored is None:
        return None
    try:
        return PROBES.validate_python(stored)
    except ValidationError:
        return None


@dataclass(frozen=True)
class Present:
    """It happened. `remote_id` is what the other side calls it, where it says."""

    note: str
    remote_id: str | None = None


@dataclass(frozen=True)
class NothingThere:
    """Nothing was found now. That it did not happen, or will not, does not follow."""

    note: str


@dataclass(frozen=True)
class CannotTell:
    """The look failed, or what was found contradicts what was meant: looking again may help, concluding does not."""

    note: str


Sighting = Present | NothingThere | CannotTell


def next_probe_at(probes: int, probed_at: datetime | None) -> datetime | None:
    """When to look again after `probes` looks that found nothing; None: now. Every pause is four times as long as the
    one before, from a minute to a day.
    """
    if probed_at is None or probes <= 0:
        return None
    pause = FIRST_PAUSE * 4.0 ** min(probes - 1, 8)
    return probed_at + min(pause, LONGEST_PAUSE)
