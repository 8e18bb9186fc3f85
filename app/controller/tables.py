"""The tables of the service's database. None of them is an authority about a ticket: the ledger is.

Losing them loses heartbeats (one interval of suspicion), witnesses of rollbacks that no projection shows, stops that
the settings do not name, pokes that the sweep at start-up makes anew, and marks of sweeps: without them every ticket
is looked at once. Without the windows of new content each process counts its own. What persons said is found again in
their comments, where they were never edited. Tokens of workflow runs of the last minutes could be used once more. The
service's life, and what wishes to be resumed, begin anew with a reattach window (`docs/outages.md`).
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Boolean, Column, Dialect, Index, MetaData, String, Table
from sqlalchemy.types import TypeDecorator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(TypeDecorator[datetime]):
    """A point in time, kept as whole microseconds since 1970 (UTC): exact and ordered on every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Refuses a time without zone: it would silently mean another moment elsewhere."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs a time zone")
        return (value - _EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Always in UTC."""
        return None if value is None else _EPOCH + timedelta(microseconds=value)


metadata = MetaData()

pokes = Table(
    "pokes",
    metadata,
    Column("key", String, primary_key=True),
    Column("version", BigInteger, nullable=False),
    # NULL while a run holds the key and nobody poked since it began.
    Column("due_at", Moment),
    Column("claimed_until", Moment),
    Column("claimed_by", String),
    Index("pokes_due_at", "due_at"),
    Index("pokes_claimed_until", "claimed_until"),
)

heartbeats = Table(
    "heartbeats",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ticket", String, primary_key=True),
    Column("generation", BigInteger, primary_key=True, autoincrement=False),
    Column("nonce", String, primary_key=True),
    Column("last_seen_at", Moment, nullable=False),
)

witnesses = Table(
    "witnesses",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ref", String, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("commit_sha", String, nullable=False),
)

stops = Table(
    "stops",
    metadata,
    Column("scope", String, primary_key=True),
    Column("repository_id", BigInteger),
    Column("by", String, nullable=False),
    Column("at", Moment, nullable=False),
    Column("reason", String, nullable=False),
)

swept = Table(
    "swept",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    # The beginning of the last sweep, by GitHub's time.
    Column("swept_at", Moment, nullable=False),
    # The default branch's head, the version of its policy file, and a digest of what is no ticket's.
    Column("head", String, nullable=False),
    Column("policy", String, nullable=False),
    Column("others", String, nullable=False),
)

sweep_marks = Table(
    "sweep_marks",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ticket", String, primary_key=True),
    Column("seen", String, nullable=False),
    Column("merge_state", String, nullable=False),
    Column("touched", String, nullable=False),
    Column("looked_at", Moment, nullable=False),
)

release_marks = Table(
    "release_marks",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("branch", String, primary_key=True),
    Column("seen", String, nullable=False),
    # When the release was first seen, by GitHub's time.
    Column("since", Moment, nullable=False),
)

landing_turns = Table(
    "landing_turns",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("trunk", String, primary_key=True),
    Column("ticket", String, primary_key=True),
    Column("priority", BigInteger, nullable=False),
    Column("since", Moment, nullable=False),
    Column("asked_at", Moment, nullable=False),
    # NULL while it waits for its turn.
    Column("began_at", Moment),
    Column("granted_until", Moment),
)

words = Table(
    "words",
    metadata,
    # A `WordKey`, so that the same thing said again is one row.
    Column("key", String, primary_key=True),
    # As it was delivered: a later edit of the comment changes nothing here.
    Column("text", String, nullable=False),
    # The Issue or pull request it was said on.
    Column("number", BigInteger, nullable=False),
    Column("author_id", BigInteger, nullable=False),
    Column("author_login", String, nullable=False),
    # By GitHub's time; of a button's click, which carries none, when it came.
    Column("created_at", Moment, nullable=False),
    Column("received_at", Moment, nullable=False),
    # GitHub's other id of the comment; empty of a button.
    Column("node_id", String, nullable=False),
    # NULL: not known, or not known to have been the head when it was said.
    Column("head_sha", String),
    Column("state", String, nullable=False),
    Index("words_received_at", "received_at"),
)

speakers = Table(
    "speakers",
    metadata,
    Column("repository", String, primary_key=True),
    Column("author_id", BigInteger, primary_key=True, autoincrement=False),
    Column("since", Moment, nullable=False),
    Column("heard", BigInteger, nullable=False),
    Column("told", Boolean, nullable=False),
)

heard_until = Table(
    "heard_until",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    # Comments that changed before this moment, by GitHub's time, were all looked at.
    Column("until", Moment, nullable=False),
)

content_windows = Table(
    "content_windows",
    metadata,
    # An installation, as `github.session` names who pays for a request.
    Column("payer", String, primary_key=True),
    # JSON: how many writes of new content in the seconds that begin at this moment.
    Column("made", String, nullable=False),
)

spent_tokens = Table(
    "spent_tokens",
    metadata,
    # The id that the issuer of a workflow run's token gave it.
    Column("id", String, primary_key=True),
    Column("by", String, nullable=False),
    Column("until", Moment, nullable=False),
    Index("spent_tokens_until", "until"),
)

known_runs = Table(
    "known_runs",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    # GitHub's id of the workflow run.
    Column("run_id", BigInteger, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False),
    Column("at", Moment, nullable=False),
    Index("known_runs_at", "at"),
)

service_life = Table(
    "service_life",
    metadata,
    # There is one row, `service`: all processes on this database are one service.
    Column("name", String, primary_key=True),
    Column("alive_at", Moment, nullable=False),
    # When the latest reattach window opened.
    Column("opened_at", Moment, nullable=False),
    # NULL while GitHub answers.
    Column("failing_since", Moment),
)

resume_wishes = Table(
    "resume_wishes",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ticket", String, primary_key=True),
    Column("kind", String, nullable=False),
    # Which one of its kind: another subject is another wish.
    Column("subject", String, nullable=False),
    # The Issue's, shortened; text of strangers.
    Column("title", String, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("by_person", Boolean, nullable=False),
    Column("since", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),
    Column("seen_at", Moment, nullable=False),
    # A person let it go on when it was held.
    Column("released", Boolean, nullable=False),
    # NULL while it waits.
    Column("passed_at", Moment),
)

resume_starts = Table(
    "resume_starts",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ticket", String, primary_key=True),
    # Empty while a place is only kept for the ticket.
    Column("attempt", String, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("is_over", Boolean, nullable=False),
)

mass_holds = Table(
    "mass_holds",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("full_name", String, nullable=False),
    # When the row was made; a notice of a time before it is looked for a little later.
    Column("known_since", Moment, nullable=False),
    Column("in_progress", BigInteger, nullable=False),
    # More than so many tickets at once are held, as the policy was last read.
    Column("most", BigInteger, nullable=False),
    # NULL while nothing is held.
    Column("held_since", Moment),
    # The notice's Issue, NULL where none is known. Without a hold it is still to be closed.
    Column("notice", BigInteger),
    # A digest of the notice's text.
    Column("shown", String, nullable=False),
    Column("looked_at", Moment),
    # Whether our notices were looked for since the last creation that was not answered.
    Column("sought", Boolean, nullable=False),
    # One process at a time tells.
    Column("telling_until", Moment),
)
