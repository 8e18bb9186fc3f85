"""The language of GitHub's search for Issues: words, qualifiers, negation, AND, OR, parentheses.

Source: docs.github.com, "Searching issues and pull requests" and "Filtering and searching issues and pull requests".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r'\s*(\(|\)|-?[\w-]+:"[^"]*"|-?"[^"]*"|[^\s()]+)')
_QUALIFIER = re.compile(r"(?P<key>[a-z][a-z-]*):(?P<value>.+)\Z", re.DOTALL)


@dataclass(frozen=True)
class Term:
    """One word or one ``key:value``; ``key`` is empty for a word."""

    key: str
    value: str
    negated: bool = False


@dataclass
class Group:
    """Terms and groups of which all, or any, must hold."""

    any_of: bool = False
    parts: list[Term | Group] = field(default_factory=list)

    def terms(self) -> list[Term]:
        """All terms, however deep."""
        found: list[Term] = []
        for part in self.parts:
            found += part.terms() if isinstance(part, Group) else [part]
        return found


def parse(query: str) -> Group:
    """Read a query. Unbalanced parentheses close at the end, as the search box takes them."""
    tokens = [found.group(1) for found in _TOKEN.finditer(query)]
    group, _ = _alternatives(tokens, 0)
    return group


def _alternatives(tokens: list[str], at: int) -> tuple[Group, int]:
    branches = [Group()]
    negate = False
    while at < len(tokens) and tokens[at] != ")":
        token = tokens[at]
        at += 1
        if token == "(":
            inner, at = _alternatives(tokens, at)
            branches[-1].parts.append(inner)
            at += 1  # over the closing parenthesis
        elif token == "OR":
            branches.append(Group())
        elif token == "NOT":
            negate = True
        elif token != "AND":
            branches[-1].parts.append(_term(token, negate))
            negate = False
    return (branches[0] if len(branches) == 1 else Group(True, list(branches))), at


def _term(token: str, negate: bool) -> Term:
    negated = token.startswith("-") and len(token) > 1
    token = token[1:] if negated else token
    found = _QUALIFIER.match(token)
    key, value = (found["key"], found["value"]) if found is not None else ("", token)
    return Term(key, value.strip('"'), negated != negate)
