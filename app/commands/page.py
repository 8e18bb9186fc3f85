"""docs/commands.md, made from the verbs: `python -m app.commands.page --write`."""

import sys
from pathlib import Path

from app.commands.help_text import details
from app.commands.registry import VERBS

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"

_TEXT = """\
# Commands in comments

<!-- Made from app/commands/verbs by `python -m app.commands.page --write`; a test compares. -->

A comment on a ticket's Issue or PR, or on the PR of a release, says what a person wants:

    /recovery hold wait for QA

{table}

A first word like `42.docs-1` is about that child of the ticket: `/recovery unhold 42.docs-1`.

## What counts as a command

- `/recovery` begins its line, with at most three blanks before it; lines end at CR or LF, and at nothing else. The verb
  is plain ASCII in any case; letters that only look alike are no command. `/recovery` alone shows the list.
- Text of others does not count: code (fenced, indented, in backticks, also where it is never closed), quotes that begin
  with `>`, HTML comments, what a mail program puts below an answer (`On … wrote:`, `From: …`) and what follows a
  signature's `--`. Neither does what stands in HTML that quotes, strikes or folds away (`<blockquote>`, `<pre>`,
  `<details>`, …): reports and pasted logs live there, and a reader does not see them. A line directly below a quote
  is its writer's own.
- All commands of a comment are carried out in their order, the same one once. Where two contradict each other (hold and
  land, cancel and recover, approve and deny, two different commits) none of the comment's commands is.
- A comment that says more than ten things is answered, and none of them is carried out. In a paragraph of more than
  8,000 characters nothing counts: leave an empty line around a command.
- An edit never says anything: write a new comment.

## Who may say it

GitHub is asked for the person's permission when the comment arrives and again right before the act; how somebody is
called beside a comment (member, contributor) is never used. Comments of bots and those that an App wrote for a person
do not count. `release.authorizers` in the [policy](policy.md) says who may authorize a release.

## Which commit is meant

`land`, `accept` and `authorize-release` are about one commit. `land` without one means the head that the PR had when
the comment was written; on the Issue the commit has to be named. Where the branch has moved since, nothing happens, and
the answer holds the command for what is there now. `accept` and `authorize-release` want all 40 characters.

## What is heard, and when

- A comment counts for 72 hours by GitHub's clock; after 24 only what stops or shows something (the table's last column)
  is carried out, and the rest is answered "too old". Its text is the one that was delivered; a comment that is removed
  before its turn says nothing.
- Where a delivery was lost, the sweep (every five minutes, and at every start) finds the comment, as long as it was
  never edited. Losing the service's database loses no command either.
- Of one person ten commands are heard that were said within ten minutes in a repository. The next comment is answered
  with when to go on; what is said until then is neither carried out nor answered.
- What one person says in a repository, and what all say on one Issue or PR, is carried out in the order in which it was
  said. What cannot be carried out now holds up what was said later for some seconds only.
- Where nothing may be written (no policy file, `mode: observe`, an operator's stop) nothing is: no answer, and no 👀.
  What was said during a stop is heard when it ends.

## Answers

👀 on the comment means that it was heard; 🚀 that all of it was done, 😕 that something was not. A comment is answered
once, in place, whatever is delivered twice. A refusal says what is missing, who can help and which command.
The same words at the operator's terminal: [commands-at-the-terminal.md](commands-at-the-terminal.md).

## Buttons

Once it is completed, the check-run of a ticket shows three buttons: Recover now and Hold say `recover` and `hold`, Show
brief answers with everything that a fresh agent must know. Permissions are those of the commands. A click is about the
state that the check-run showed: on a ticket that somebody else holds by now it is refused. Authorizing a release is no
button, because a click names no commit.
"""


def page() -> str:
    """The whole page."""
    return _TEXT.format(table=details(VERBS))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())
