"""Notices and redaction in `orbiter.toml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.config.loader import InvalidConfiguration, load_configuration
from runtime.judgement.reports.notices import NoticeRules
from runtime.record.state.fault_taxonomy import Severity

HOME = {"HOME": "/nonexistent"}


def test_channels_and_patterns_reach_the_drives(tmp_path: Path) -> None:
    (tmp_path / "orbiter.toml").write_text(
        """
[notices]
log = "warning"
webhook = "critical"
webhook_url = "https://hooks.example.com/x"
quiet_seconds = 30

[redaction]
patterns = ['PATIENT-\\d+']
"""
    )
    given = load_configuration(tmp_path, HOME).execution_config()
    assert given.notices is not None
    assert given.notices.channels == {"log": Severity.WARNING, "webhook": Severity.CRITICAL}
    assert (given.notices.webhook, given.notices.quiet_s) == ("https://hooks.example.com/x", 30.0)
    assert given.redact == (r"PATIENT-\d+",)


def test_without_notices_seed_003s_channels_hold(tmp_path: Path) -> None:
    given = load_configuration(tmp_path, HOME).execution_config()
    assert given.notices is None
    rules = NoticeRules.of_errors(given.errors)
    assert rules.channels == {"terminal": Severity.CRITICAL, "log": Severity.CRITICAL}
    (tmp_path / "orbiter.toml").write_text("[errors]\nnotify_on_critical_errors = false\n")
    assert NoticeRules.of_errors(load_configuration(tmp_path, HOME).errors).channels == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[notices]\nbel = "error"\n', r"orbiter.toml:2: unknown key 'notices.bel': did you mean 'bell'"),
        ('[notices]\nbell = "loud"\n', r"orbiter.toml:2: notices.bell"),
        ('[notices]\nwebhook = "error"\n', r"orbiter.toml:2: notices.webhook needs notices.webhook_url"),
        ('[redaction]\npatterns = ["("]\n', r"orbiter.toml:2: the pattern '\(' cannot be read"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "orbiter.toml").write_text(text)
    with pytest.raises(InvalidConfiguration, match=said):
        load_configuration(tmp_path, HOME)
