"""The one grammar of commands in comments: `/recovery <verb> …` at the beginning of a line that a person wrote."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command. `verb`: in lower case, ASCII letters and hyphens; `args`: the words after it, as written; `rest`: the
    same as free text; `line`: the line of the comment on which it stands, the first is 1.
    """

    verb: str
    args: tuple[str, ...]
    rest: str
    line: int


@dataclass(frozen=True)
class Parsed:
    """The commands of a comment in the order in which they are written, each once. `contradiction`: in a sentence, why
    none of them is carried out; None where nothing contradicts.
    """

    commands: tuple[Command, ...]
    contradiction: str | None = None


def commands_in(text: str) -> Parsed:
    """Every command of a comment. Raises nothing, whatever the text."""
    return Parsed(())
