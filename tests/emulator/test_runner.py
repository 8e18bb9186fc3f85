"""The runner that carries out steps as they stand: what GitHub documents of steps, status, files, signals."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from actions_world import PERMISSIONS, Stage, wait_until
from emulated import REPO, World, rest

from app.emulator.expression_values import Values, WrongValue
from app.emulator.expressions import WrongExpression, condition, of_contexts, read
from app.emulator.job_plan import WrongWorkflow, plan

HEAD = """\
name: Steps
on:
  workflow_dispatch:
    inputs:
      word: {type: string, default: "a b"}
      flag: {type: boolean, default: false}
permissions: {id-token: write}
env: {WHERE: workflow, OUTER: "${{ inputs.word }}"}
jobs:
  one:
    runs-on: ${{ vars.RUNNER || 'ubuntu-latest' }}
    env: {WHERE: job, ACTOR: "${{ github.actor }}"}
    steps:
"""


@pytest.fixture
def stage(world: World, tmp_path: Path) -> Stage:
    emulator = world.emulator
    emulator.change_app("keeper", permissions=PERMISSIONS)
    emulator.accept_permissions(world.installation["id"])
    token = emulator.installation_token(world.app, world.installation["id"])
    return Stage(world, rest(emulator, token), tmp_path)


def begin(stage: Stage, steps: str, pace: float = 0.02, head: str = HEAD, **more: Any) -> int:
    """Start a run of these steps; ``OUT`` is the test's folder."""
    text = head + textwrap.indent(textwrap.dedent(steps), "      ")
    emulator = stage.world.emulator
    emulator.commit(REPO, {".github/workflows/run.yml": text})
    emulator.workflow_machine(REPO, "run.yml", env={"OUT": str(stage.folder)}, pace=pace, **more)
    return stage.start(inputs={})


def ended(stage: Stage, number: int) -> tuple[str, dict[str, str], str]:
    """How the run ended, how each of its steps did, and the log."""
    run = stage.wait(number)
    jobs = stage.bot.get(f"/repos/{REPO}/actions/runs/{number}/jobs").json()["jobs"]
    steps = {step["name"]: step["conclusion"] for step in jobs[0]["steps"]}
    return run["conclusion"], steps, stage.world.emulator.run_log(number)


def test_steps_hand_on_env_path_and_outputs_and_see_what_github_gives(stage: Stage) -> None:
    stage.world.emulator.action_values(REPO, variables={"colour": "blue"}, secrets={"AGENT_KEY": "s3cret-key"})
    number = begin(
        stage,
        """\
        - id: first
          name: First ${{ vars.COLOUR }}
          env: {WHERE: step}
          run: |
            echo "where=$WHERE" >> "$GITHUB_OUTPUT"
            printf 'many<<E\\n1\\n2\\nE\\n' >> "$GITHUB_OUTPUT"
            echo "LATER=yes" >> "$GITHUB_ENV"
            mkdir "$RUNNER_TEMP/bin"; printf '#!/bin/sh\\necho mine\\n' > "$RUNNER_TEMP/bin/tool"
            chmod +x "$RUNNER_TEMP/bin/tool"; echo "$RUNNER_TEMP/bin" >> "$GITHUB_PATH"
        - name: Second
          shell: bash
          env:
            KEY: ${{ secrets.AGENT_KEY }}
            SAID: ${{ steps.first.outputs.where }} ${{ steps.first.outcome }} ${{ env.LATER }}
          run: |
            echo "$SAID|$WHERE|$OUTER|$LATER|$(tool)|$ACTOR|${GITHUB_TOKEN:-none}|$KEY"
            echo "${{ steps.first.outputs.many }}" | tail -1
            test -n "$ACTIONS_ID_TOKEN_REQUEST_URL"; echo "$ACTIONS_ID_TOKEN_REQUEST_TOKEN"
        - if: vars.COLOUR == 'BLUE' && !inputs.flag
          name: Third
          working-directory: ${{ runner.temp }}
          run: test "$PWD" = "$RUNNER_TEMP"
        - if: inputs.flag
          name: Fourth
          run: exit 1
        """,
    )
    how, steps, log = ended(stage, number)
    assert how == "success", log
    assert [*steps.items()][1:5] == [
        ("First blue", "success"),
        ("Second", "success"),
        ("Third", "success"),
        ("Fourth", "skipped"),
    ]
    assert "step success yes|job|a b|yes|mine|keeper[bot]|none|***" in log
    assert "s3cret-key" not in log
    assert [line for line in log.splitlines() if line == "***"], "nor is the secret by which tokens are asked for"


def test_a_failure_skips_what_does_not_ask_for_it_and_continue_on_error_forgives(stage: Stage) -> None:
    number = begin(
        stage,
        """\
        - {id: soft, name: soft, continue-on-error: true, run: exit 3}
        - {name: after, if: "steps.soft.outcome == 'failure' && steps.soft.conclusion == 'success'", run: "true"}
        - {name: pipe, shell: bash, run: "false | cat"}
        - {name: skipped, run: "true"}
        - {name: told, if: failure(), run: "true"}
        - {name: not cancelled, if: cancelled(), run: "true"}
        - {name: ever, if: always(), run: "true"}
        """,
    )
    how, steps, _ = ended(stage, number)
    assert how == "failure"
    del steps["Set up job"], steps["Complete job"]
    assert steps == {
        "soft": "success",
        "after": "success",
        "pipe": "failure",
        "skipped": "skipped",
        "told": "success",
        "not cancelled": "skipped",
        "ever": "success",
    }


def test_a_cancellation_signals_the_first_process_alone_and_later_steps_run(stage: Stage) -> None:
    number = begin(
        stage,
        """\
        - name: work
          shell: bash
          run: |
            trap 'echo INT >> "$OUT/signals"' INT
            trap 'echo TERM >> "$OUT/signals"' TERM
            python3 -c "import os, pathlib, time
            pathlib.Path(os.environ['OUT'], 'child').write_text(str(os.getpid())); time.sleep(60)" &
            while true; do sleep 0.02; done
        - {name: plain, run: "true"}
        - {name: failed, if: failure(), run: "true"}
        - {name: hand off, if: failure() || cancelled(), run: "echo done >> $OUT/signals"}
        """,
        pace=0.05,
    )
    child = stage.folder / "child"
    wait_until(child.exists, bool, "the step is under way")
    assert stage.bot.post(f"/repos/{REPO}/actions/runs/{number}/cancel").status_code == 202
    how, steps, _ = ended(stage, number)
    assert how == "cancelled"
    assert (stage.folder / "signals").read_text().split() == ["INT", "TERM", "done"]
    assert [steps[name] for name in ("work", "plain", "failed", "hand off")] == [
        "cancelled",
        "skipped",
        "skipped",
        "success",
    ]
    wait_until(lambda: Path(f"/proc/{child.read_text()}").exists(), lambda there: not there, "its child is gone")


def test_a_step_that_takes_too_long_fails_and_a_lost_machine_ends_everything(stage: Stage) -> None:
    number = begin(
        stage,
        """\
        - {name: long, timeout-minutes: 1, run: exec sleep 60}
        - {name: told, if: failure(), run: "true"}
        """,
        pace=0.005,
    )
    how, steps, _ = ended(stage, number)
    assert (how, steps["long"], steps["told"]) == ("failure", "failure", "success")
    # What it started in a group of its own, which holds its output open, is on that machine, too.
    apart = "import os, time; os.setpgid(0, 0); open(os.environ['OUT'] + '/there', 'w'); time.sleep(60)"
    (stage.folder / "apart.py").write_text(apart)
    number = begin(
        stage,
        """\
        - {run: 'python3 $OUT/apart.py; true'}
        - {if: always(), run: 'touch $OUT/after'}
        """,
    )
    wait_until((stage.folder / "there").exists, bool, "the step is under way")
    stage.world.emulator.lose_machine(number)
    assert stage.wait(number)["conclusion"] == "failure"
    assert not (stage.folder / "after").exists()


def test_an_action_runs_only_where_a_command_stands_in_for_it(stage: Stage) -> None:
    steps = "- {uses: actions/checkout@v4, with: {fetch-depth: 0}}\n"
    assert ended(stage, begin(stage, steps))[0] == "failure"
    stand_in = {"actions/checkout@v4": ["bash", "-c", 'test "$(printenv INPUT_FETCH-DEPTH)" = 0']}
    how, _, log = ended(stage, begin(stage, steps, actions=stand_in))
    assert how == "success", log


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{run: 'echo ${{ foo.x }}'}", "Unrecognized named-value: 'foo'"),
        ("{run: 'echo ${{ inputs.word'}", "not closed"),
        ("{run: 'true', if: secrets.X}", "Unrecognized named-value: 'secrets'"),
        ("{run: 'echo ${{ failure() }}'}", "Unrecognized function: 'failure'"),
        ("{run: 'true', iff: true}", "Unexpected value 'iff'"),
        ("{run: 'true', timeout-minutes: 1.5}", "positive integer"),
        ("{run: 'true', uses: a/b@v1}", "Exactly one"),
    ],
)
def test_what_github_would_not_take_is_refused(step: str, said: str) -> None:
    with pytest.raises(WrongWorkflow, match=said.replace("(", r"\(").replace(")", r"\)")):
        plan(f"{HEAD}      - {step}\n")


def test_a_wrong_file_fails_the_run(stage: Stage) -> None:
    number = begin(stage, "- {run: 'echo ${{ foo.x }}'}\n")
    assert stage.wait(number)["conclusion"] == "startup_failure"
    assert "Unrecognized named-value: 'foo'" in stage.world.emulator.run_log(number)


CONTEXT = {"inputs": {"a": 1, "list": [{"n": "x"}, {"n": "y"}], "text": "Word", "empty": ""}}
PLACE = of_contexts(("inputs",), status=True)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("inputs.A == '1'", True),
        ("inputs.text == 'WORD'", True),
        ("inputs.none == 0", True),
        ("'x' == 0", False),
        ("inputs.empty || 'else'", "else"),
        ("inputs.a && 'then' || 'else'", "then"),
        ("!(1 < 2)", False),
        ("0x10 >= 16", True),
        ("inputs.list[1].n", "y"),
        ("join(inputs.list.*.n, '-')", "x-y"),
        ("contains(inputs.list.*.n, 'Y')", True),
        ("format('{0} {{1}} {1}', 1, true)", "1 {1} true"),
        ("fromJSON('{\"a\": [1]}').a[0]", 1),
        ("startsWith(inputs.text, 'wo') && endsWith('abc', 'C')", True),
    ],
)
def test_expressions_compute_as_documented(source: str, value: Any) -> None:
    assert read(source, PLACE).evaluate(CONTEXT, {}) == value


@pytest.mark.parametrize("source", ["", "inputs.", "1 +", "(1", "inputs['a'", "hashFiles('x')", "contains('a')", "a b"])
def test_wrong_expressions_are_refused(source: str) -> None:
    with pytest.raises(WrongExpression):
        read(source, PLACE)


def test_a_condition_holds_after_a_failure_only_where_it_asks_for_the_status() -> None:
    status = {"success": lambda: False, "failure": lambda: True, "cancelled": lambda: False, "always": lambda: True}
    held = {
        s: condition(s, PLACE).evaluate(CONTEXT, status) for s in ("true", "${{ failure() }}", "always() && inputs.a")
    }
    assert held == {"true": False, "${{ failure() }}": True, "always() && inputs.a": 1}
    with pytest.raises(WrongValue):
        read("fromJSON('{')", PLACE).evaluate(CONTEXT, {})
    assert Values.text(1.5) == "1.5"


def test_variables_by_rest(stage: Stage) -> None:
    base = f"/repos/{REPO}/actions/variables"
    assert stage.world.dev.post(base, json={"name": "colour", "value": "red"}).status_code == 201
    assert stage.world.dev.post(base, json={"name": "COLOUR", "value": "red"}).status_code == 409
    assert stage.world.dev.patch(f"{base}/colour", json={"value": "blue"}).status_code == 204
    assert stage.world.dev.get(f"{base}/COLOUR").json()["value"] == "blue"
    assert [v["name"] for v in stage.world.dev.get(base).json()["variables"]] == ["COLOUR"]
    assert stage.world.reader.get(base).status_code == 403
    assert stage.world.dev.delete(f"{base}/colour").status_code == 204
    assert stage.world.dev.get(f"{base}/colour").status_code == 404
    assert stage.world.dev.post(base, json={"name": "1x", "value": ""}).status_code == 422
