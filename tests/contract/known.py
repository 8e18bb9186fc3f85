"""Where GitHub itself differs from its description: the only faults that are forgiven, each with its source."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Undescribed:
    """A status that the description does not list for the operations that ``where`` matches (method and path)."""

    status: int
    where: str
    why: str
    source: str

    def covers(self, operation: str, status: int) -> bool:
        return status == self.status and re.search(self.where, operation) is not None


@dataclass(frozen=True)
class Deviation:
    """A fault that is the description's own: ``where`` matches operation or event, ``what`` the fault's text."""

    where: str
    what: str
    why: str
    source: str

    def covers(self, subject: str, fault: str) -> bool:
        return re.search(self.where, subject) is not None and re.search(self.what, fault) is not None


ANY = ""

STATUSES: tuple[Undescribed, ...] = (
    Undescribed(
        301,
        ANY,
        "A renamed or transferred repository leads on to its new place.",
        "docs.github.com, Best practices for using the REST API, Follow redirects",
    ),
    Undescribed(
        307,
        ANY,
        "The same for requests that are no GET.",
        "docs.github.com, Best practices for using the REST API, Follow redirects",
    ),
    Undescribed(
        304,
        "^GET ",
        "Most endpoints answer a conditional request so when nothing has changed.",
        "docs.github.com, Best practices for using the REST API, Use conditional requests if appropriate",
    ),
    Undescribed(
        400,
        "^(POST|PUT|PATCH|DELETE) ",
        "Problems parsing JSON; Body should be a JSON object.",
        "docs.github.com, Troubleshooting the REST API",
    ),
    Undescribed(
        401,
        ANY,
        "Bad credentials, an expired token, a JWT that cannot be decoded.",
        "docs.github.com, Troubleshooting the REST API",
    ),
    Undescribed(
        403,
        ANY,
        "Rate limits, missing permissions, a suspended installation, an archived repository.",
        "docs.github.com, Troubleshooting the REST API; Rate limits for the REST API",
    ),
    Undescribed(
        404,
        ANY,
        "Whoever may not see a thing is told that it is not there.",
        "docs.github.com, Troubleshooting the REST API, 404 Not Found for an existing resource",
    ),
    Undescribed(
        422,
        "^(POST|PUT|PATCH|DELETE) ",
        "Validation failed.",
        "docs.github.com, Troubleshooting the REST API, Validation failed",
    ),
    Undescribed(429, ANY, "A rate limit.", "docs.github.com, Rate limits for the REST API"),
)

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        " 4..$",
        r"^/ Additional properties are not allowed \('status' was unexpected\)",
        "Every refusal tells its status in the body too; only the plainest error's schema names it.",
        "docs.github.com, Troubleshooting the REST API, whose examples have it",
    ),
    Deviation(
        "",
        r'/email ".*\[bot\]@users\.noreply\.github\.com" is not a "email"',
        "The commits of a bot carry its login with the brackets.",
        "github.com/orgs/community/discussions/24664",
    ),
)
