"""`orbiter.toml`: one file over the other; what is wrong is named with file, line, key, and what would be right."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.parsing.toml_text import key_lines
from runtime.config.configuration import Configuration
from runtime.config.loader import InvalidConfiguration, load_configuration
from runtime.judgement.faults.rules.rule import Rule


def written(root: Path, text: str, *, user: str = "") -> Configuration:
    home = root / "home"
    (home / "orbiter").mkdir(parents=True, exist_ok=True)
    (home / "orbiter" / "orbiter.toml").write_text(user, encoding="utf-8")
    (root / "orbiter.toml").write_text(text, encoding="utf-8")
    return load_configuration(root, {"XDG_CONFIG_HOME": str(home)})


def test_without_files_everything_is_at_its_default(tmp_path: Path) -> None:
    found = load_configuration(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "none")})
    assert {each.source for each in found.values()} == {"default"}
    assert found.execution_config().errors.max_attempts == 4


def test_the_workspace_goes_over_the_user_key_by_key(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        "[errors]\nmax_attempts = 2\n[budgets]\nmax_steps = 9\n",
        user="[errors]\nmax_attempts = 7\nbase_retry_delay = 0.5\n",
    )
    where = {each.key: (each.value, each.source) for each in found.values()}
    assert where["errors.max_attempts"] == (2, f"{tmp_path}/orbiter.toml:2")
    assert where["errors.base_retry_delay"] == (0.5, f"{tmp_path}/home/orbiter/orbiter.toml:3")
    assert where["budgets.max_steps"] == (9, f"{tmp_path}/orbiter.toml:4")
    made = found.execution_config(grace_s=1.0)
    assert (made.errors.max_attempts, made.budget.max_steps, made.grace_s) == (2, 9, 1.0)


def test_every_section_reaches_the_drives(tmp_path: Path) -> None:
    made = written(
        tmp_path,
        """
        [errors]
        enable_error_routing = false
        error_recovery_timeout = 30
        [permissions]
        deny = ["shell"]
        [permissions.verbs]
        ticket = "name"
        [analysis]
        model = "off"
        [runtime]
        stall_s = 5
        handoff_rounds = 0
        fallbacks = ["openai:gpt-5-mini"]
        [prices."acme:tiny"]
        input = 1
        output = 2
        [[rules]]
        id = "ours"
        text = "flux"
        cause = "not_found"
        """,
    ).execution_config()
    assert (made.enable_error_routing, made.deadline_s, made.analysis) == (False, 30, "off")
    assert (made.stall_s, made.handoff_rounds, made.fallbacks) == (5, 0, ("openai:gpt-5-mini",))
    assert made.permissions.rules[0].verb == "shell"
    assert made.permissions.verbs.kind("ticket") == "name"
    assert made.prices.models["acme:tiny"].output == 2
    assert [rule.id for rule in made.errors.rules] == ["ours"]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[erors]\n", 1, "unknown section 'erors': did you mean 'errors'?"),
        ("[errors]\n\nmax_atempts = 3\n", 3, "unknown key 'errors.max_atempts': did you mean 'max_attempts'?"),
        ("[errors]\nmax_attempts = 0\n", 2, "errors.max_attempts: Input should be greater than or equal to 1"),
        ("errors.max_attempts = 'x'\n", 1, "errors.max_attempts: Input should be a valid integer"),
        (
            "[errors.provider_settings.openai]\nmax_retires = 1\n",
            2,
            "unknown key 'errors.provider_settings.openai.max_retires': did you mean 'max_retries'?",
        ),
        (
            "[errors]\nprovider_settings.openai = {\ninsufficient_quota_action = 'fall'}\n",
            None,
            "not valid TOML",
        ),
        (
            "[errors.provider_settings.openai]\ninsufficient_quota_action = 'falback'\n",
            2,
            "'falback' is unknown; did you mean 'fallback'?",
        ),
        (
            "[[rules]]\nid='a'\ncause='not_found'\ntext='x'\n[[rules]]\nid='b'\ntext='y'\ncause='not_fund'\n",
            8,
            "not_found",
        ),
        ("[[rules]]\nid='a'\ncause='not_found'\ntext='('\n", 4, "not a regular expression"),
        ("[permissions]\ndeny = ['1!']\n", 2, "is not a rule"),
        ("[permissions]\ndeny = []\n[permissions.verbs]\nticket = 'file'\n", 4, "'file' is unknown"),
        ("[permissions.verbs]\nfs = 'name'\n", 2, "the class of 'fs' is fixed: it is path"),
        ("[budgets]\nmax_total_cost_usd = -1\n", 2, "budgets.max_total_cost_usd"),
        ("[runtime]\nenv_file = 'nowhere.env'\n", 2, "cannot read env_file"),
        ("[errors]\nmax_retry_delay = 0.1\n", 2, "max_retry_delay (0.1) is below base_retry_delay (1)"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_what_would_be_right(
    tmp_path: Path, text: str, line: int | None, said: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        written(tmp_path, text)
    message = str(caught.value)
    assert said in message
    assert message.startswith(f"{tmp_path}/orbiter.toml:{line}: " if line is not None else f"{tmp_path}/orbiter.toml: ")


def test_a_mistake_in_the_users_file_is_named_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"home/orbiter/orbiter\.toml:2: errors\.max_attempts"):
        written(tmp_path, "[errors]\nbase_retry_delay = 2\n", user="[errors]\nmax_attempts = -4\n")


def test_rules_are_shown_as_they_were_written(tmp_path: Path) -> None:
    found = written(tmp_path, "[[rules]]\nid = 'a'\ncause = 'not_found'\ncode = 'x'\n")
    (rule,) = [each for each in found.values() if each.key == "rules[0]"]
    assert Rule.model_validate(rule.value).code == ("x",)


names = st.from_regex(r"[a-z_]{1,6}", fullmatch=True)
values = st.sampled_from(['"a"', '"[x]"', '"""a\n[b]\nc = 1\n"""', "[\n1,\n2, # ] no\n]", "{ a = 1 }", "'#'", "3"])


@given(st.dictionaries(names, st.dictionaries(names, values, min_size=1, max_size=4), max_size=4))
def test_every_key_is_found_on_its_line(tables: dict[str, dict[str, str]]) -> None:
    text, expected = "", {}
    for table, keys in tables.items():
        text += f"\n[{table}]  # a table\n"
        for key, value in keys.items():
            expected[table, key] = text.count("\n") + 1
            text += f"{key} = {value}\n"
    data: dict[str, Any] = tomllib.loads(text)
    found = key_lines(text)
    assert {path: line for path, line in found.items() if len(path) == 2} == expected
    assert {path[0] for path in found} == set(data)
