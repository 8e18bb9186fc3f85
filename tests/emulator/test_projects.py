"""Projects through GraphQL: fields, items, values, and who may touch them."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World, rest
from issue_world import EVERYTHING, Listener, listener

FIELDS: list[dict[str, Any]] = [
    {"name": "Status", "type": "SINGLE_SELECT", "options": ["Ready", "Working", {"name": "Done", "color": "GREEN"}]},
    {
        "name": "Sprint",
        "type": "ITERATION",
        "iterations": [
            {"title": "Past", "start_date": "2020-01-06"},
            {"title": "Next", "start_date": "2099-01-05", "duration": 7},
        ],
    },
    {"name": "Points", "type": "NUMBER"},
    {"name": "Note", "type": "TEXT"},
    {"name": "Due", "type": "DATE"},
]
SET = """mutation($p:ID!,$i:ID!,$f:ID!,$v:ProjectV2FieldValue!){updateProjectV2ItemFieldValue(
  input:{projectId:$p,itemId:$i,fieldId:$f,value:$v}){projectV2Item{id}}}"""
VALUES = """query($i:ID!){node(id:$i){... on ProjectV2Item{type isArchived
  content{... on Issue{number repository{nameWithOwner}} ... on PullRequest{number} ... on DraftIssue{title}}
  status:fieldValueByName(name:"Status"){... on ProjectV2ItemFieldSingleSelectValue{name optionId color}}
  fieldValues(first:30){nodes{__typename
    ... on ProjectV2ItemFieldSingleSelectValue{optionId name field{... on ProjectV2FieldCommon{name}}}
    ... on ProjectV2ItemFieldIterationValue{iterationId title startDate duration}
    ... on ProjectV2ItemFieldNumberValue{number} ... on ProjectV2ItemFieldTextValue{text}
    ... on ProjectV2ItemFieldDateValue{date} ... on ProjectV2ItemFieldLabelValue{labels(first:3){nodes{name}}}
    ... on ProjectV2ItemFieldRepositoryValue{repository{name}}}}}}}"""


class Board:
    """A project of octo with one Issue in it."""

    def __init__(self, world: World) -> None:
        self.app = listener(world)
        self.project = world.emulator.project("octo", "Plan", fields=FIELDS)
        self.issue = world.emulator.issue(REPO, "One", labels=["bug"])
        self.item = self.add(self.issue["node_id"])

    def add(self, content: str, app: Listener | None = None) -> str:
        answer = (app or self.app).graphql(
            "mutation($p:ID!,$c:ID!){addProjectV2ItemById(input:{projectId:$p,contentId:$c}){item{id}}}",
            p=self.project["node_id"],
            c=content,
        )
        return str(answer["data"]["addProjectV2ItemById"]["item"]["id"])

    def field(self, name: str) -> dict[str, Any]:
        return dict(next(f for f in self.project["fields"] if f["name"] == name))

    def option(self, name: str) -> str:
        return str(next(o["id"] for o in self.field("Status")["options"] if o["name"] == name))

    def set(self, field: str, value: dict[str, Any], app: Listener | None = None) -> Any:
        return (app or self.app).graphql(
            SET, p=self.project["node_id"], i=self.item, f=self.field(field)["node_id"], v=value
        )

    def shown(self) -> Any:
        return self.app.graphql(VALUES, i=self.item)["data"]["node"]


@pytest.fixture
def board(world: World) -> Board:
    return Board(world)


def refusal(answer: Any) -> tuple[str, str]:
    return answer["errors"][0]["type"], answer["errors"][0]["message"]


def test_a_project_shows_its_fields_by_type(board: Board) -> None:
    query = """{organization(login:"octo"){projectsV2(first:5){totalCount nodes{title number}}
      projectV2(number:1){title closed public fields(first:50){nodes{
        ... on ProjectV2FieldCommon{name dataType}
        ... on ProjectV2SingleSelectField{options{id name color}}
        ... on ProjectV2IterationField{configuration{duration startDay iterations{title startDate duration}
          completedIterations{title}}}}}}}}"""
    shown = board.app.graphql(query)["data"]["organization"]
    assert shown["projectsV2"] == {"totalCount": 1, "nodes": [{"title": "Plan", "number": 1}]}
    fields = {f["name"]: f for f in shown["projectV2"]["fields"]["nodes"]}
    assert fields["Title"]["dataType"] == "TITLE"
    assert [(o["name"], o["color"]) for o in fields["Status"]["options"]] == [
        ("Ready", "GRAY"),
        ("Working", "GRAY"),
        ("Done", "GREEN"),
    ]
    sprint = fields["Sprint"]["configuration"]
    assert sprint["iterations"] == [{"title": "Next", "startDate": "2099-01-05", "duration": 7}]
    assert sprint["completedIterations"] == [{"title": "Past"}]
    assert {f["dataType"] for f in fields.values()} >= {"NUMBER", "TEXT", "DATE", "ITERATION", "SINGLE_SELECT"}


def test_every_type_of_value_is_set_read_and_cleared(board: Board) -> None:
    iteration = board.field("Sprint")["configuration"]["iterations"][1]["id"]
    for field, value in [
        ("Status", {"singleSelectOptionId": board.option("Working")}),
        ("Sprint", {"iterationId": iteration}),
        ("Points", {"number": 2.5}),
        ("Note", {"text": "look"}),
        ("Due", {"date": "2027-01-02"}),
    ]:
        assert "errors" not in board.set(field, value)
    shown = board.shown()
    assert shown["type"] == "ISSUE"
    assert shown["content"] == {"number": board.issue["number"], "repository": {"nameWithOwner": REPO}}
    assert shown["status"] == {"name": "Working", "optionId": board.option("Working"), "color": "GRAY"}
    kinds = {v["__typename"].removeprefix("ProjectV2ItemField"): v for v in shown["fieldValues"]["nodes"]}
    assert kinds["IterationValue"]["title"] == "Next"
    assert kinds["IterationValue"]["startDate"] == "2099-01-05"
    assert kinds["NumberValue"]["number"] == 2.5
    assert kinds["DateValue"]["date"] == "2027-01-02"
    assert kinds["LabelValue"]["labels"]["nodes"] == [{"name": "bug"}]
    assert kinds["RepositoryValue"]["repository"] == {"name": "demo"}
    texts = [v["text"] for v in shown["fieldValues"]["nodes"] if "text" in v]
    assert texts == ["One", "look"]  # the title is a text value too
    clear = """mutation($p:ID!,$i:ID!,$f:ID!){clearProjectV2ItemFieldValue(
      input:{projectId:$p,itemId:$i,fieldId:$f}){projectV2Item{id}}}"""
    args = {"p": board.project["node_id"], "i": board.item, "f": board.field("Status")["node_id"]}
    assert "errors" not in board.app.graphql(clear, **args)
    assert board.shown()["status"] is None


def test_adding_again_returns_the_same_item_and_tells_nothing(board: Board) -> None:
    assert board.add(board.issue["node_id"]) == board.item
    assert len(board.app.heard("projects_v2_item", "created")) == 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "Status",
            {"text": "Done"},
            "Did not receive a single select option Id to update a field of type single_select",
        ),
        ("Status", {"singleSelectOptionId": "00000000"}, "The single select option Id does not belong to the field"),
        ("Sprint", {"text": "x"}, "Did not receive an iteration Id to update a field of type iteration"),
        ("Sprint", {"iterationId": "nope"}, "This iteration is none of the field"),
        ("Points", {"text": "1"}, "Did not receive a number value to update a field of type number"),
        ("Note", {"number": 1}, "Did not receive a text value to update a field of type text"),
        ("Due", {"text": "2027-01-01"}, "Did not receive a date value to update a field of type date"),
        ("Note", {}, "Did not receive a text value to update a field of type text"),
        ("Note", {"text": "a", "number": 1}, "Exactly one value must be given to update a field"),
        ("Title", {"text": "Other"}, "The field of type title is currently not supported."),
        ("Labels", {"text": "bug"}, "The field of type labels is currently not supported."),
    ],
)
def test_a_wrong_value_is_refused(board: Board, field: str, value: dict[str, Any], message: str) -> None:
    assert refusal(board.set(field, value)) == ("VALIDATION", message)


def test_option_ids_are_case_sensitive(board: Board) -> None:
    answer = board.set("Status", {"singleSelectOptionId": board.option("Done").upper() + "X"})
    assert refusal(answer)[0] == "VALIDATION"


def test_items_and_fields_of_another_project_are_refused(world: World, board: Board) -> None:
    other = world.emulator.project("octo", "Other", fields=FIELDS)
    note = next(f["node_id"] for f in other["fields"] if f["name"] == "Note")
    wrong_project = board.app.graphql(SET, p=other["node_id"], i=board.item, f=note, v={"text": "x"})
    assert refusal(wrong_project) == ("VALIDATION", "The item does not exist in the project")
    wrong_field = board.app.graphql(SET, p=board.project["node_id"], i=board.item, f=note, v={"text": "x"})
    assert refusal(wrong_field) == ("VALIDATION", "The field does not exist in the project")
    missing = board.app.graphql(SET, p=board.project["node_id"], i="PVTI_kwFAKE", f=note, v={"text": "x"})
    assert refusal(missing) == ("NOT_FOUND", "Could not resolve to a node with the global id of 'PVTI_kwFAKE'")


def test_an_archived_item_cannot_be_changed(board: Board) -> None:
    act = "mutation($p:ID!,$i:ID!){%s(input:{projectId:$p,itemId:$i}){item{isArchived}}}"
    args = {"p": board.project["node_id"], "i": board.item}
    archived = board.app.graphql(act % "archiveProjectV2Item", **args)
    assert archived["data"]["archiveProjectV2Item"]["item"] == {"isArchived": True}
    assert refusal(board.set("Note", {"text": "x"}))[1] == "An archived item cannot be changed"
    assert board.add(board.issue["node_id"]) == board.item
    board.app.graphql(act % "unarchiveProjectV2Item", **args)
    assert "errors" not in board.set("Note", {"text": "x"})
    told = [p["action"] for p in board.app.heard("projects_v2_item")]
    assert told == ["created", "archived", "restored", "edited"]


def test_a_deleted_item_is_gone_and_its_issue_stays(world: World, board: Board) -> None:
    answer = board.app.graphql(
        "mutation($p:ID!,$i:ID!){deleteProjectV2Item(input:{projectId:$p,itemId:$i}){deletedItemId}}",
        p=board.project["node_id"],
        i=board.item,
    )
    assert answer["data"]["deleteProjectV2Item"]["deletedItemId"] == board.item
    assert refusal(board.app.graphql(VALUES, i=board.item))[0] == "NOT_FOUND"
    assert world.bot.get(f"/repos/{REPO}/issues/{board.issue['number']}").status_code == 200
    assert board.app.heard("projects_v2_item", "deleted")[0]["projects_v2_item"]["node_id"] == board.item


def test_an_edit_tells_the_field_from_and_to(board: Board) -> None:
    board.set("Status", {"singleSelectOptionId": board.option("Ready")})
    board.set("Status", {"singleSelectOptionId": board.option("Ready")})  # no change, no event
    board.set("Status", {"singleSelectOptionId": board.option("Done")})
    first, second = board.app.heard("projects_v2_item", "edited")
    assert first["changes"]["field_value"]["from"] is None
    change = second["changes"]["field_value"]
    assert change["field_node_id"] == board.field("Status")["node_id"]
    assert (change["field_name"], change["field_type"], change["project_number"]) == ("Status", "single_select", 1)
    assert (change["from"]["name"], change["to"]["name"]) == ("Ready", "Done")
    assert second["projects_v2_item"]["content_node_id"] == board.issue["node_id"]
    assert second["organization"]["login"] == "octo"
    assert "repository" not in second


def test_a_project_that_is_renamed_published_closed_or_opened_is_told(world: World, board: Board) -> None:
    changes: list[dict[str, Any]] = [{"title": "Other", "public": True}, {"closed": True}, {"closed": True}]
    for change in [*changes, {"closed": False}, {"title": "Other"}]:
        world.emulator.change_project(board.project["id"], **change)
    told = board.app.heard("projects_v2")
    assert [t["action"] for t in told] == ["created", "edited", "closed", "reopened"]
    assert told[1]["changes"] == {"title": {"from": "Plan", "to": "Other"}, "public": {"from": False, "to": True}}
    assert (told[2]["projects_v2"]["closed_at"] is None, told[3]["projects_v2"]["closed_at"]) == (False, None)


def test_new_options_have_new_ids_and_items_lose_what_they_had(world: World, board: Board) -> None:
    board.set("Status", {"singleSelectOptionId": board.option("Done")})
    old = board.option("Done")
    board.project = world.emulator.change_project_field(board.project["id"], "Status", options=["Ready", "Done"])
    assert board.option("Done") != old
    assert board.shown()["status"] is None
    assert refusal(board.set("Status", {"singleSelectOptionId": old}))[1].startswith("The single select option Id")


def test_renamed_and_removed_fields(world: World, board: Board) -> None:
    board.set("Note", {"text": "kept"})
    board.project = world.emulator.change_project_field(board.project["id"], "Note", name="Remark")
    query = 'query($i:ID!){node(id:$i){... on ProjectV2Item{fieldValueByName(name:"%s"){__typename}}}}'
    shown = board.app.graphql(query % "Remark", i=board.item)["data"]["node"]
    assert shown["fieldValueByName"] == {"__typename": "ProjectV2ItemFieldTextValue"}
    assert board.app.graphql(query % "Note", i=board.item)["data"]["node"]["fieldValueByName"] is None
    removed = board.field("Remark")["node_id"]
    world.emulator.remove_project_field(board.project["id"], "Remark")
    answer = board.app.graphql(SET, p=board.project["node_id"], i=board.item, f=removed, v={"text": "x"})
    assert refusal(answer)[0] == "NOT_FOUND"


def test_an_app_without_the_permission_sees_nothing_and_changes_nothing(world: World, board: Board) -> None:
    blind = listener(world, "blind", {"issues": "write"})
    query = '{organization(login:"octo"){projectsV2(first:5){totalCount}}}'
    assert blind.graphql(query)["data"]["organization"]["projectsV2"] == {"totalCount": 0}
    one = blind.graphql('{organization(login:"octo"){projectV2(number:1){id}}}')
    assert refusal(one) == ("NOT_FOUND", "Could not resolve to a ProjectV2 with the number 1.")
    assert refusal(board.set("Note", {"text": "x"}, blind)) == ("FORBIDDEN", "Resource not accessible by integration")
    assert blind.heard("projects_v2_item") == []


def test_reading_is_not_writing(world: World, board: Board) -> None:
    reader = listener(world, "reading", EVERYTHING | {"organization_projects": "read"})
    assert reader.graphql('{organization(login:"octo"){projectV2(number:1){title}}}')["data"]["organization"]
    assert refusal(board.set("Note", {"text": "x"}, reader))[0] == "FORBIDDEN"


def test_a_persons_projects_are_an_empty_list_to_an_app_and_there_for_the_person(world: World) -> None:
    world.emulator.project("dev", "Own")
    planner = listener(world)
    query = '{user(login:"dev"){projectsV2(first:5){nodes{title}}}}'
    assert planner.graphql(query) == {"data": {"user": {"projectsV2": {"nodes": []}}}}
    assert world.graphql(query, world.dev)["data"]["user"]["projectsV2"]["nodes"] == [{"title": "Own"}]


def test_items_that_may_not_be_read_are_redacted(world: World, board: Board) -> None:
    world.emulator.repo("octo", "secret", private=True)
    hidden = world.emulator.issue("octo/secret", "Hush")
    item = board.add(hidden["node_id"])
    narrow = world.emulator.installation_token(board.app.app, board.app.installation["id"], repositories=["demo"])
    with rest(world.emulator, narrow) as client:
        shown = world.graphql(VALUES, client, i=item)["data"]["node"]
    assert (shown["type"], shown["content"], shown["fieldValues"]["nodes"]) == ("REDACTED", None, [])


def test_an_issue_lists_the_projects_it_is_in(board: Board) -> None:
    query = """query($i:ID!){node(id:$i){... on Issue{projectItems(first:5){nodes{id project{number}}}}}}"""
    shown = board.app.graphql(query, i=board.issue["node_id"])["data"]["node"]["projectItems"]["nodes"]
    assert shown == [{"id": board.item, "project": {"number": 1}}]


def test_people_with_a_role_change_a_project_and_strangers_do_not_see_it(world: World, board: Board) -> None:
    args = {"p": board.project["node_id"], "i": board.item, "f": board.field("Note")["node_id"], "v": {"text": "x"}}
    assert "errors" not in world.graphql(SET, world.dev, **args)
    assert refusal(world.graphql(SET, world.reader, **args))[0] == "FORBIDDEN"
    with rest(world.emulator, world.tokens["stranger"]) as stranger:
        assert refusal(world.graphql(SET, stranger, **args))[0] == "NOT_FOUND"


def test_a_draft_is_an_item_of_its_own(board: Board) -> None:
    answer = board.app.graphql(
        'mutation($p:ID!){addProjectV2DraftIssue(input:{projectId:$p,title:"Idea"}){projectItem{type '
        "content{... on DraftIssue{title}}}}}",
        p=board.project["node_id"],
    )
    shown = answer["data"]["addProjectV2DraftIssue"]["projectItem"]
    assert shown == {"type": "DRAFT_ISSUE", "content": {"title": "Idea"}}
