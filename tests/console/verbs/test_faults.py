"""`classify`, `config`, `breakers`, budgets of `run`: in processes of their own."""

from __future__ import annotations

import json
import subprocess

from tests.console.program import PROGRAM, Program, environment
from tests.swarm_texts import BREAKER_CONFIG, DOWN

CONFIG = f"""{BREAKER_CONFIG}
[[rules]]
id = "flux"
text = "flux capacitor"
cause = "not_found"
"""


def classify(program: Program, text: bytes, *more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PROGRAM, "classify", *more],
        input=text,
        capture_output=True,
        timeout=30,
        check=False,
        cwd=program.directory,
        env=environment(),
    )


def test_errors_are_judged_line_by_line_and_bad_lines_are_named(program: Program) -> None:
    rows = [
        b'{"id": "e1", "provider": "openai", "status": 429, "message": "slow down", "headers": {"retry-after": "7"}}',
        b"nonsense",
        b"",
        b'"text"',
        b"\xff\xfe",
        b'{"exception": "TimeoutError: 60 s"}',
    ]
    done = classify(program, b"\n".join(rows), "--json")
    assert done.returncode == 2
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each.get("line") for each in found] == [None, 2, 4, 5, None]
    wanted = {"cause", "origin", "persistence", "impact", "retry_after_s", "remedy", "options", "rule_id"}
    assert wanted <= found[0].keys()
    assert (found[0]["id"], found[0]["cause"], found[0]["retry_after_s"]) == ("e1", "rate_limited", 7.0)
    assert found[4]["cause"] == "timeout"
    assert b"3 lines are not JSON objects" in done.stderr


def test_what_is_printed_is_json_also_where_an_id_is_no_number_of_json(program: Program) -> None:
    done = classify(program, b'{"id": 1e999}\n{"id": NaN, "status": 429}\n{"id": 1.5}', "--json")

    def refused(word: str) -> None:
        raise AssertionError(word)

    found = [json.loads(line, parse_constant=refused) for line in done.stdout.splitlines()]
    assert [each["id"] for each in found] == ["1e999", "NaN", 1.5]
    assert found[1]["cause"] == "rate_limited"


def test_errors_are_read_from_files_with_the_workspaces_own_rules(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text(CONFIG)
    (program.directory / "errors.jsonl").write_text('{"message": "no flux capacitor"}\n')
    (found,) = program.json("classify", "errors.jsonl")
    assert (found["cause"], found["rule_id"]) == ("not_found", "flux")
    assert "rule: flux" in program("classify", "errors.jsonl").stdout
    assert program("classify", "nowhere.jsonl").returncode == 2


def test_the_configuration_is_shown_with_where_it_comes_from(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text(CONFIG)
    rows = {each["id"]: each for each in program.json("config")}
    assert rows["errors.max_attempts"]["value"] == 2
    assert rows["errors.max_attempts"]["source"].endswith("orbiter.toml:3")
    assert rows["errors.max_retry_delay"]["source"] == "default"
    assert {each["id"] for each in program.json("config", "--set")} >= {"errors.max_attempts", "rules[0]"}
    assert (rows["console.mouse"]["value"], rows["console.mouse"]["source"]) == ("auto", "default")
    told = program.with_environment({"ORBITER_CONSOLE_MOUSE": "false"}).json("config", "--set")
    assert {"id": "console.mouse", "value": False, "source": "$ORBITER_CONSOLE_MOUSE"} in told
    wrong = program.with_environment({"ORBITER_ERRORS_MAX_ATEMPTS": "2"})("config")
    assert "$ORBITER_ERRORS_MAX_ATEMPTS sets nothing; did you mean $ORBITER_ERRORS_MAX_ATTEMPTS?" in wrong.stderr
    (program.directory / "orbiter.toml").write_text('[hosts.big]\naddress = "me@example.org"\n')
    for form in ((), ("--json",)):
        done = program("config", *form)
        assert "orbiter.toml:2: a workspace's file must not name hosts" in done.stderr
        assert "example.org" not in done.stdout
    (program.directory / "orbiter.toml").write_text("[errors]\nmax_atempts = 2\n")
    for verb in (["config"], ["classify"], ["run", "keeper.py:swarm", "tea"]):
        done = program(*verb)
        assert done.returncode == 2, verb
        assert "orbiter.toml:2: unknown key 'errors.max_atempts': did you mean 'max_attempts'?" in done.stderr


def test_a_breaker_is_listed_and_reset(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text(CONFIG)
    (program.directory / "down.py").write_text(DOWN)
    assert program("run", "down.py:agent", "go").returncode == 3
    (row,) = program.json("breakers")
    assert (row["id"], row["state"], row["failures"]) == ("model:scripted:down", "open", 2)
    assert row["again_s"] > 2900
    assert program("breakers", "--reset", "model:other").returncode == 2
    assert program("breakers", "--reset", "model:scripted:down").returncode == 0
    assert program.json("breakers") == []


def test_a_run_has_a_budget_of_its_own(program: Program) -> None:
    done = program("run", "keeper.py:swarm", "tea", "--budget", "max_steps=2")
    assert done.returncode == 3
    (incident,) = program.json("incidents")
    assert "max_steps is reached" in json.dumps(incident)
    assert program("run", "keeper.py:swarm", "tea", "--budget", "max_toolcalls=1").returncode == 2
    assert program("run", "keeper.py:swarm", "tea", "--budget", "max_steps").returncode == 2
