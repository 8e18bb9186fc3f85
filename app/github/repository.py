"""One repository as the App sees it: all subjects under one name."""

from app.github.checks import Checks
from app.github.code_owners import CodeOwners
from app.github.comment_source import CommentSources
from app.github.comments import Comments
from app.github.commit_dates import CommitDates
from app.github.discovery import Discovery
from app.github.dispatches import Dispatches
from app.github.evidence import Evidence
from app.github.guarded_pulls import GuardedPulls
from app.github.head_times import HeadTimes
from app.github.history import Histories
from app.github.incident_issues import IncidentIssues
from app.github.issues import Issues
from app.github.landing_evidence import LandingEvidences
from app.github.merged_pulls import MergedPulls
from app.github.merging import Merging
from app.github.metadata import Metadata
from app.github.objects import Objects
from app.github.overview import Overviews
from app.github.permissions import Permissions
from app.github.policy_checks import PolicyChecks
from app.github.policy_history import PolicyHistories
from app.github.policy_proposal import PolicyProposals
from app.github.project_fields import ProjectFields
from app.github.pull_edits import PullEdits
from app.github.pulls import Pulls
from app.github.queries import Queries
from app.github.reactions import Reactions
from app.github.refs import Refs
from app.github.release_evidence import ReleaseEvidences
from app.github.release_ruleset import ReleaseRulesets
from app.github.release_writes import ReleaseWrites
from app.github.removal import Removals
from app.github.smart_http import SmartHttp
from app.github.ticket_clues import TicketClues


class Repository(
    Queries,
    Histories,
    Refs,
    Objects,
    Pulls,
    PullEdits,
    LandingEvidences,
    Merging,
    MergedPulls,
    Metadata,
    CodeOwners,
    ProjectFields,
    Overviews,
    Comments,
    CommentSources,
    HeadTimes,
    Reactions,
    Permissions,
    Issues,
    IncidentIssues,
    Checks,
    Evidence,
    GuardedPulls,
    CommitDates,
    Dispatches,
    PolicyHistories,
    PolicyProposals,
    PolicyChecks,
    ReleaseEvidences,
    ReleaseRulesets,
    ReleaseWrites,
    Removals,
    SmartHttp,
    TicketClues,
    Discovery,
):
    """Given out by `GitHub.repository`. Reads are repeated when GitHub does not answer; writes are sent once, and
    raise `Unanswered` where GitHub may have carried them out unheard.
    """
