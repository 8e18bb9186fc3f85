"""How the App finds its own comments again: a marker in the first line, and always the author's App id beside it."""


def marker_of(ticket: int) -> str:
    """The first line of a ticket's handoff comment."""
    return f"<!-- agent-recovery:handoff:{ticket} -->"


def report_marker(ticket: int, edge: str) -> str:
    """The first line of a report that a person must act on; `edge` names the happening, so it is told once."""
    return f"<!-- agent-recovery:report:{ticket}:{edge} -->"
