"""The language of `${{ … }}`: read once, with the contexts and functions that its place offers, evaluated when needed.

Source: docs.github.com, "Evaluate expressions in workflows and actions" and "Contexts reference". Names are compared
without regard to case, as are texts. A name that the place does not offer makes the whole workflow wrong, as at GitHub;
a property that is not there is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.emulator.expression_values import FUNCTIONS, Values, equals, filtered, is_true, less, number_of, property_of

STATUS_FUNCTIONS = frozenset({"success", "failure", "cancelled", "always"})
MAX_CHARACTERS = 21_000
MAX_DEPTH = 50
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:0x[0-9A-Fa-f]+|0o[0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))(?![\w.])
    | (?P<text>'(?:[^']|'')*')
    | (?P<name>[A-Za-z_][\w-]*)
    | (?P<sign>&&|\|\||==|!=|<=|>=|[()\[\].,!<>*])
    )""",
    re.VERBOSE,
)
_LITERALS = {"true": True, "false": False, "null": None, "nan": float("nan"), "infinity": float("inf")}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

Evaluate = Callable[[Mapping[str, Any], Mapping[str, Callable[[], bool]]], Any]


class WrongExpression(ValueError):
    """An expression that GitHub would not take, in words like its own."""


@dataclass(frozen=True)
class Place:
    """What an expression may speak of where it stands: contexts, and functions about the status."""

    contexts: frozenset[str]
    status: bool = False


@dataclass(frozen=True)
class Expression:
    """A whole expression. ``asks_status``: it names one of the functions about the status."""

    evaluate: Evaluate
    asks_status: bool


def read(source: str, place: Place) -> Expression:
    """Read an expression. Raises :class:`WrongExpression`."""
    if len(source) > MAX_CHARACTERS:
        raise WrongExpression(f"Exceeded max expression length {MAX_CHARACTERS}")
    reader = _Reader(source, place)
    evaluate = reader.whole()
    return Expression(evaluate, reader.asks_status)


class _Reader:
    """Recursive descent, one method a level of binding."""

    def __init__(self, source: str, place: Place) -> None:
        self._source, self._place = source, place
        self._tokens: list[tuple[str, str, int]] = []
        self._next = self._depth = 0
        self.asks_status = False
        self._split()

    def _split(self) -> None:
        at, end = 0, len(self._source.rstrip())
        while at < end:
            found = _TOKEN.match(self._source, at)
            if found is None or found.lastgroup is None:
                word = self._source[at:].split()[0]
                raise self._wrong(
                    "Unexpected symbol", word, at + len(self._source[at:]) - len(self._source[at:].lstrip())
                )
            self._tokens.append((found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
            at = found.end()

    def _wrong(self, what: str, word: str, at: int) -> WrongExpression:
        return WrongExpression(
            f"{what}: '{word}'. Located at position {at + 1} within expression: {self._source.strip()}"
        )

    def _peek(self) -> str:
        kind, word, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("end", "", 0)
        return word if kind == "sign" else ""

    def _take(self, *wanted: str) -> str | None:
        word = self._peek()
        if word and word in wanted:
            self._next += 1
            return word
        return None

    def _need(self, wanted: str) -> None:
        if self._take(wanted) is None:
            raise self._unexpected()

    def _unexpected(self) -> WrongExpression:
        if self._next >= len(self._tokens):
            return WrongExpression(f"Unexpected end of expression: {self._source.strip()}")
        _, word, at = self._tokens[self._next]
        return self._wrong("Unexpected symbol", word, at)

    def whole(self) -> Evaluate:
        found = self._either()
        if self._next < len(self._tokens):
            raise self._unexpected()
        return found

    def _either(self) -> Evaluate:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise WrongExpression(f"Exceeded max expression depth {MAX_DEPTH}")
        sides = [self._both()]
        while self._take("||"):
            sides.append(self._both())
        self._depth -= 1
        return sides[0] if len(sides) == 1 else _first(sides, wanted=True)

    def _both(self) -> Evaluate:
        sides = [self._compared()]
        while self._take("&&"):
            sides.append(self._compared())
        return sides[0] if len(sides) == 1 else _first(sides, wanted=False)

    def _compared(self) -> Evaluate:
        left = self._negated()
        while sign := self._take(*_COMPARISONS):
            left = _comparison(sign, left, self._negated())
        return left

    def _negated(self) -> Evaluate:
        if self._take("!"):
            inner = self._negated()
            return lambda context, status: not is_true(inner(context, status))
        return self._reached()

    def _reached(self) -> Evaluate:
        found = self._single()
        while sign := self._take(".", "["):
            if sign == "." and self._take("*"):
                found = _filter(found)
            elif sign == ".":
                found = _property(found, _constant(self._name()[0]))
            elif self._take("*"):
                self._need("]")
                found = _filter(found)
            else:
                found = _property(found, self._either())
                self._need("]")
        return found

    def _name(self) -> tuple[str, int]:
        if self._next >= len(self._tokens) or self._tokens[self._next][0] != "name":
            raise self._unexpected()
        _, word, at = self._tokens[self._next]
        self._next += 1
        return word, at

    def _single(self) -> Evaluate:
        if self._take("("):
            inner = self._either()
            self._need(")")
            return inner
        kind, word, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("end", "", 0)
        if kind == "number":
            self._next += 1
            return _constant(number_of(word))
        if kind == "text":
            self._next += 1
            return _constant(word[1:-1].replace("''", "'"))
        name, at = self._name()
        if self._take("("):
            return self._call(name, at)
        if name.lower() in _LITERALS and self._peek() not in (".", "["):
            return _constant(_LITERALS[name.lower()])
        if name.lower() not in self._place.contexts:
            raise self._wrong("Unrecognized named-value", name, at)
        return lambda context, status: context.get(name.lower())

    def _call(self, name: str, at: int) -> Evaluate:
        given: list[Evaluate] = []
        if not self._take(")"):
            given.append(self._either())
            while self._take(","):
                given.append(self._either())
            self._need(")")
        known = name.lower()
        if known in STATUS_FUNCTIONS and self._place.status:
            if given:
                raise self._wrong("Too many parameters supplied", name, at)
            self.asks_status = True
            return lambda context, status: status[known]()
        function = FUNCTIONS.get(known)
        if function is None:
            raise self._wrong("Unrecognized function", name, at)
        if len(given) < function.least:
            raise self._wrong("Too few parameters supplied", name, at)
        if len(given) > function.most:
            raise self._wrong("Too many parameters supplied", name, at)
        return lambda context, status: function.call([argument(context, status) for argument in given])


def _constant(value: Any) -> Evaluate:
    return lambda context, status: value


def _first(sides: list[Evaluate], *, wanted: bool) -> Evaluate:
    """The first side that decides, as a value: `a || b` is a or b, not a boolean."""

    def decide(context: Mapping[str, Any], status: Mapping[str, Callable[[], bool]]) -> Any:
        value = None
        for side in sides:
            value = side(context, status)
            if is_true(value) is wanted:
                break
        return value

    return decide


def _comparison(sign: str, left: Evaluate, right: Evaluate) -> Evaluate:
    def compare(context: Mapping[str, Any], status: Mapping[str, Callable[[], bool]]) -> bool:
        a, b = left(context, status), right(context, status)
        if sign in ("==", "!="):
            return equals(a, b) is (sign == "==")
        if sign in ("<", ">"):
            return less(a, b) if sign == "<" else less(b, a)
        return equals(a, b) or (less(a, b) if sign == "<=" else less(b, a))

    return compare


def _property(of: Evaluate, key: Evaluate) -> Evaluate:
    return lambda context, status: property_of(of(context, status), key(context, status))


def _filter(of: Evaluate) -> Evaluate:
    return lambda context, status: filtered(of(context, status))


_HOLE = re.compile(r"\$\{\{((?:'(?:[^']|'')*'|[^'}]|\}(?!\}))*)\}\}")


@dataclass(frozen=True)
class Template:
    """A value of a workflow file: texts and expressions in turn, or a value that is no text."""

    parts: tuple[str | Expression, ...]

    def value(self, values: Values) -> Any:
        """A single expression keeps its type; everything else is a text."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Expression):
            return self.parts[0].evaluate(values.contexts, values.status)
        return self.text(values)

    def text(self, values: Values) -> str:
        """The whole as a text."""
        return "".join(
            part if isinstance(part, str) else values.text(part.evaluate(values.contexts, values.status))
            for part in self.parts
        )


def template(source: Any, place: Place) -> Template:
    """Read a value. Raises :class:`WrongExpression`."""
    if not isinstance(source, str):
        return Template((Expression(_constant(source), False),))
    text = source
    parts: list[str | Expression] = []
    at = 0
    for hole in _HOLE.finditer(text):
        if hole.start() > at:
            parts.append(text[at : hole.start()])
        parts.append(read(hole[1], place))
        at = hole.end()
    rest = text[at:]
    if "${{" in rest:
        raise WrongExpression(f"The expression is not closed. An unescaped ${{{{ sequence was found: {rest.strip()}")
    if rest or not parts:
        parts.append(rest)
    return Template(tuple(parts))


def condition(source: Any, place: Place) -> Expression:
    """Read what stands behind `if`: an expression with or without its braces. Where it asks for no status it holds only
    while nothing has failed. Raises :class:`WrongExpression`."""
    text = str(source).strip() if isinstance(source, str) else Values.text(source)
    whole = _HOLE.fullmatch(text)
    if whole is not None:
        found = read(whole[1], place)
    elif "${{" in text:
        # Text around an expression is a text, which is true wherever it is not empty.
        mixed = template(text, place)
        asks = any(isinstance(part, Expression) and part.asks_status for part in mixed.parts)
        found = Expression(lambda context, status: mixed.text(Values(context, status)), asks)
    else:
        found = read(text or "success()", place)
    if found.asks_status:
        return found
    return Expression(lambda context, status: status["success"]() and found.evaluate(context, status), True)


def of_contexts(names: Collection[str], *, status: bool = False) -> Place:
    """A place that offers these contexts."""
    return Place(frozenset(names), status)
