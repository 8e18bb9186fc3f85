"""githubkit as anybody would use it, called by the names of operations; every answer goes through its own models."""

import base64
import inspect
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from githubkit import AppAuthStrategy, GitHub, TokenAuthStrategy
from githubkit.exception import RequestFailed

from app.emulator.client import Emulator

Json = dict[str, Any]
# Octokit's package renames what GitHub calls otherwise.
_OTHER_NAMES = {"repos/compare-commits-with-basehead": "repos/compare-commits"}


class Caller:
    """Calls operations as several identities and keeps which were called and what was told wrongly."""

    def __init__(self, emulator: Emulator, tokens: Mapping[str, str], app: Mapping[str, Any]) -> None:
        url = f"{emulator.url}/"
        quiet: dict[str, Any] = {"base_url": url, "http_cache": False, "auto_retry": False}
        self._as: dict[str, Any] = {who: GitHub(TokenAuthStrategy(token), **quiet) for who, token in tokens.items()}
        self._as["app"] = GitHub(AppAuthStrategy(app["id"], app["pem"]), **quiet)
        self.known: Json = {}
        self.called: set[str] = set()
        self.faults: list[str] = []

    def __enter__(self) -> Self:
        for client in self._as.values():
            client.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._as.values():
            client.__exit__(kind, error, trace)

    def __call__(self, operation: str, data: Any = None, *, who: str = "dev", keep: str = "", **given: Any) -> Any:
        """Call an operation; the JSON it answers, None for none.

        Path parameters come from ``given`` or from what is known; ``keep`` names members of the answer to know from
        now on (``issue_number=number``). A refusal raises; an answer that githubkit's model does not take is kept
        as a fault.
        """
        area, _, name = _OTHER_NAMES.get(operation, operation).replace("-", "_").partition("/")
        method = getattr(getattr(self._as[who].rest, area), name)
        needed = [p.name for p in inspect.signature(method).parameters.values() if p.default is p.empty]
        values = {n: given.pop(n, self.known.get(n)) for n in needed if n != "kwargs"}
        if missing := sorted(n for n, value in values.items() if value is None):
            raise LookupError(f"{operation}: nothing known for {missing}")
        body = {} if data is None else {"data": data}
        try:
            answer = method(**values, **given, **body)
        except RequestFailed as failed:
            raise AssertionError(f"{operation}: {failed.response.status_code} {failed.response.text}") from failed
        self.called.add(operation)
        if not answer.content:
            return None
        try:
            _ = answer.parsed_data
        except Exception as error:
            self.faults.append(f"{operation}: {error}")
        shown = answer.json()
        for pair in keep.split():
            known, _, member = pair.partition("=")
            self.known[known] = shown[member or known]
        return shown

    def graphql(self, query: str, **variables: Any) -> Json:
        """The data of a GraphQL document, which must have no errors."""
        answered: Json = self._as["dev"].graphql(query, variables)
        return answered


def text(content: str) -> str:
    """A file's content as the API takes it."""
    return base64.b64encode(content.encode()).decode()
