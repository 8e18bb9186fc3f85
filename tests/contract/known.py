"""Where GitHub itself differs from its description: the only faults that are forgiven, each with its source."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Undescribed:
    """A status that the description does not list for the operations that ``where`` matches (method and path)."""

    status: int
    where: str
    why: str
    source: str

    def covers(self, operation: str, status: int) -> bool:
        return status == self.status and re.search(self.where, operation) is not None


@dataclass(frozen=True)
class Deviation:
    """A fault that is the description's own: ``where`` matches operation or event, ``what`` the fault's text."""

    where: str
    what: str
    why: str
    source: str

    def covers(self, subject: str, fault: str) -> bool:
        return re.search(self.where, subject) is not None and re.search(self.what, fault) is not None


ANY = ""

STATUSES: tuple[Undescribed, ...] = (
    Undescribed(
        409,
        r"^POST .*/actions/variables$",
        "A variable of this name is there already.",
        "cli/cli, pkg/cmd/variable/set/http.go (409 leads it to change the variable)",
    ),
    Undescribed(
        301,
        ANY,
        "A renamed or transferred repository leads on to its new place.",
        "docs.github.com, Best practices for using the REST API, Follow redirects",
    ),
    Undescribed(
        307,
        ANY,
        "The same for requests that are no GET.",
        "docs.github.com, Best practices for using the REST API, Follow redirects",
    ),
    Undescribed(
        304,
        "^GET ",
        "Most endpoints answer a conditional request so when nothing has changed.",
        "docs.github.com, Best practices for using the REST API, Use conditional requests if appropriate",
    ),
    Undescribed(
        400,
        ANY,
        "Problems parsing JSON; a version of the API that there is not.",
        "docs.github.com, Troubleshooting the REST API; API versions",
    ),
    Undescribed(
        401,
        ANY,
        "Bad credentials, an expired token, a JWT that cannot be decoded.",
        "docs.github.com, Troubleshooting the REST API",
    ),
    Undescribed(
        403,
        ANY,
        "Rate limits, missing permissions, a suspended installation, an archived repository.",
        "docs.github.com, Troubleshooting the REST API; Rate limits for the REST API",
    ),
    Undescribed(
        404,
        ANY,
        "Whoever may not see a thing is told that it is not there.",
        "docs.github.com, Troubleshooting the REST API, 404 Not Found for an existing resource",
    ),
    Undescribed(
        422,
        "^(POST|PUT|PATCH|DELETE) ",
        "Validation failed.",
        "docs.github.com, Troubleshooting the REST API, Validation failed",
    ),
    Undescribed(429, ANY, "A rate limit.", "docs.github.com, Rate limits for the REST API"),
    Undescribed(
        422,
        "^GET .*/commits/{sha}/pulls$",
        "A name that is no commit; the description has 409 instead.",
        "github.com/rust-lang/homu/issues/141 and github.com/github-tools/github/pull/544 have it of its siblings",
    ),
    Undescribed(
        500,
        "^PATCH .*/git/refs/",
        "A SHA that is nowhere in the repository's network.",
        "github.com/github/rest-api-description/issues/714",
    ),
    Undescribed(501, ANY, "The emulator's own word for what it does not serve.", "docs/emulator.md"),
)

# Operations and events that the description knows by another name: (pattern, its name there, source).
OTHER_NAMES: tuple[tuple[str, str, str], ...] = (
    (
        r"^(GET /repos/{owner}/{repo}/contents)$",
        r"\1/{path}",
        "docs.github.com, Get repository content: omit the path for the root",
    ),
    (
        r"^(GET /repos/{owner}/{repo})/statuses/{ref\*?}$",
        r"\1/commits/{ref}/statuses",
        "the same description, component pull-request: statuses_url leads there",
    ),
    (
        r"^repository_dispatch/.*",
        "repository_dispatch/sample.collected",
        "docs.github.com, repository_dispatch: the action is what the sender chose",
    ),
)

DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        r"^PUT .*/branches/\{branch\*\}/protection ",
        r'request/(required_status_checks "contexts" is a required property|\w+ null is not of type "boolean")',
        "Checks stand in for contexts, and a switch that is null is off: PyGithub sends nothing else.",
        "PyGithub 2.10 Branch.edit_protection, whose tests are recordings of GitHub's answers",
    ),
    Deviation(
        "^PATCH .*/git/refs/.* 500$",
        "^/ null is not valid",
        "There is no body at all.",
        "github.com/github/rest-api-description/issues/714",
    ),
    Deviation(
        "/check-runs",
        r'/annotation_level "error" is not one of',
        "The level is taken and stored, though it is not described.",
        "measured 2026-09-22 by sluiceway/behavior-lab (check run 106538479875)",
    ),
    Deviation(
        " 4..$",
        r"^/ Additional properties are not allowed \('status' was unexpected\)",
        "Every refusal tells its status in the body too; only the plainest error's schema names it.",
        "docs.github.com, Troubleshooting the REST API, whose examples have it",
    ),
    Deviation(
        "",
        r'/email ".*\[bot\]@users\.noreply\.github\.com" is not a "email"',
        "The commits of a bot carry its login with the brackets.",
        "github.com/actions/checkout, README: 41898282+github-actions[bot]@users.noreply.github.com",
    ),
    Deviation(
        " 422$",
        r"^/ Additional properties are not allowed \('errors' was unexpected\)",
        "Where no refusal is described, a validation still lists what is wrong.",
        "docs.github.com, Troubleshooting the REST API, Validation failed",
    ),
    Deviation(
        "^event ",
        r'/(performed_via_github_app|app)/events/\d+ "(?!installation)\w+" is not one of',
        "Some payloads list the events an App may have subscribed to, and the newest are not in their lists.",
        "the same description, x-webhooks: sub-issues, issue-dependencies, projects-v2, merge-group",
    ),
    Deviation(
        "^event ",
        r"/(performed_via_github_app|app)/permissions Additional properties are not allowed \('\w+' was unexpected\)",
        "The same of the newest permissions.",
        "the same description, component app-permissions: merge_queues",
    ),
    Deviation(
        "^event fork",
        r"^/forkee Additional properties are not allowed \('has_discussions' was unexpected\)",
        "Repositories have it since 2022; the description of a fork is a copy from before.",
        "the same description, component repository-webhooks",
    ),
    Deviation(
        "^event issues/",
        r"^/issue Additional properties are not allowed \('parent_issue_url' was unexpected\)",
        "A sub-issue is shown as everywhere else, with the address of its parent.",
        "the same description, components: issue",
    ),
    Deviation(
        "^(POST|PUT) .*/labels 200$",
        r"^request/ \[",
        "The labels may be given as an array too.",
        "the same description: You can also pass an `array` of labels directly",
    ),
    Deviation(
        "^event projects_v2_item/edited",
        r"^/changes/field_value/(from|to) [0-9.]+ is not valid",
        "A number field holds fractions too.",
        "docs.github.com, GraphQL, ProjectV2FieldValue: number is a Float",
    ),
    Deviation(
        "^event repository_dispatch/",
        '^/action ".*" is not one of "sample.collected"',
        "The action is whatever event_type the sender chose.",
        "docs.github.com, Webhook events and payloads, repository_dispatch",
    ),
    Deviation(
        "^event ",
        r"Additional properties are not allowed \('user_view_type' was unexpected\)",
        "Every user has it since 2024; the description of some events is a copy from before.",
        "the same description, component simple-user",
    ),
    Deviation(
        "^event workflow_run/in_progress",
        r"^/workflow_run Additional properties are not allowed \('display_title' was unexpected\)",
        "Its siblings, requested and completed, have it.",
        "the same description, webhook workflow_run/completed",
    ),
    Deviation(
        "^event ",
        r"/performed_via_github_app Additional properties are not allowed \('client_id' was unexpected\)",
        "Apps have it since 2024; the description of some events is a copy from before.",
        "the same description, component integration",
    ),
    Deviation(
        "/deployments/.*/statuses|^event deployment_status/",
        r'/(target_url|log_url|environment_url) "" is not a "uri"',
        "An address that was not given is shown as an empty text, its own default.",
        "the same description, component deployment-status: default of target_url, log_url, environment_url",
    ),
    Deviation(
        "check-runs|check_run",
        '/conclusion "stale" is not one of',
        "GitHub itself concludes a check-run so after 14 days.",
        "docs.github.com, REST API endpoints for check runs, conclusion",
    ),
    Deviation(
        "",
        "/head/repo null is not of type",
        "The fork of an open or closed pull request may have been deleted.",
        "github.com/github/rest-api-description/issues/1811",
    ),
    Deviation(
        "^GET /app/installations 200",
        "/account ",
        "The list describes an account as user and enterprise at once; the single installation has it right.",
        "the same description, GET /app/installations/{installation_id}",
    ),
    Deviation(
        "^GET /app/installations 200",
        r"Additional properties are not allowed \('client_id' was unexpected\)",
        "The same: the single installation has it.",
        "the same description, GET /app/installations/{installation_id}",
    ),
    Deviation(
        "^(POST|PUT) .*/labels 200$",
        r"^request/ \[",
        "The labels may be given as an array too.",
        "the same description: You can also pass an `array` of labels directly",
    ),
    Deviation(
        "rulesets.* 422$",
        r"^/errors/\d+ .* is not of type .object.",
        "Rulesets tell what is wrong in plain sentences.",
        "github.com/r3dbars/transcripted/issues/1484, github.com/apache/texera/issues/5050",
    ),
    Deviation(
        "^POST /repos/{owner}/{repo}/issues 201",
        "^request/body null is not of type",
        "None is written as null too; of editing an Issue the description says so.",
        "the same description, PATCH /repos/{owner}/{repo}/issues/{issue_number}",
    ),
    Deviation(
        "",
        r"Additional properties are not allowed \('archived_at', 'archived_by' were unexpected\)",
        "Labels can be archived since autumn 2026, which the package does not know yet.",
        "githubkit-schemas 26.10.21, made from the description of that day: model Label",
    ),
    Deviation(
        "^GET /search/issues 200",
        "/body null is not of type",
        "An Issue without a text has none in a search either.",
        "the same description, component issue: body may be null",
    ),
)
