"""Commands that a text tells for comments, in the form that they have at the operator's terminal."""

import re

_TOLD = re.compile(r"`/recovery (?P<verb>[a-z-]+)(?: (?P<child>[0-9]+\.[a-z0-9-]+))?(?P<words>[^`\n]*)`")

FORMS = {
    "hold": "hold OWNER/NAME --ticket {ticket} --by LOGIN",
    "unhold": "unhold OWNER/NAME --ticket {ticket} --by LOGIN",
    "cancel": "cancel OWNER/NAME --ticket {ticket} --by LOGIN",
    "recover": "bring-back OWNER/NAME --ticket {ticket} --by LOGIN",
    "takeover": "takeover OWNER/NAME --ticket {ticket} --by LOGIN",
    "retarget": "retarget OWNER/NAME {word} --ticket {ticket} --by LOGIN",
    "land": "land OWNER/NAME {word} --ticket {ticket} --by LOGIN",
    "accept": "accept OWNER/NAME {word} --ticket {ticket} --by LOGIN",
    "approve": "approve OWNER/NAME --ticket {ticket} --effect {word} --by LOGIN",
    "resolve": "resolve OWNER/NAME --ticket {ticket} --effect {word} --{last} --by LOGIN",
}


def at_terminal(text: str) -> str:
    """The text with every command in the form of the terminal, where there is one."""
    return _TOLD.sub(_form, text)


def _form(told: re.Match[str]) -> str:
    form = FORMS.get(told["verb"])
    if form is None:
        return told[0]
    words = told["words"].split()
    word, last = (words[0], words[-1]) if words else ("…", "…")
    return f"`agent-recovery {form.format(ticket=told['child'] or 'N', word=word, last=last)}`"
