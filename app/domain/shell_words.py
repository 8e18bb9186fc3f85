"""Commands as argument arrays: what a policy may write as a line is split once, here, and never sees a shell."""

import shlex

MAX_COMMANDS = 20
MAX_WORDS = 100


def argument_arrays(value: object) -> tuple[tuple[str, ...], ...]:
    """Argument arrays of a list of commands, each a line (split as a POSIX shell would, nothing expanded) or a list of
    words. Raises ValueError, naming the command by its place, on anything else and on an empty command.
    """
    if not isinstance(value, (list, tuple)):
        raise ValueError("expected a list of commands")
    if len(value) > MAX_COMMANDS:
        raise ValueError(f"at most {MAX_COMMANDS} commands")
    return tuple(_words(position, command) for position, command in enumerate(value, start=1))


def _words(position: int, command: object) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            raise ValueError(f"command {position}: {error}") from None
    elif isinstance(command, (list, tuple)) and all(isinstance(word, str) for word in command):
        words = tuple(command)
    else:
        raise ValueError(f"command {position} must be a line or a list of words")
    if not words or not words[0]:
        raise ValueError(f"command {position} is empty")
    if len(words) > MAX_WORDS or any("\0" in word for word in words):
        raise ValueError(f"command {position} is too long or holds a NUL character")
    return words
