"""Places of journals, and what they are refused for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.record.address import parse_address
from runtime.record.journal import JournalError
from runtime.record.places import (
    ADDRESS_FILE,
    journal_address,
    journal_exists,
    journal_name,
    make_state_directory,
    open_journal,
)
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary


async def test_a_directory_is_a_place(tmp_path: Path) -> None:
    assert not journal_exists(tmp_path)
    with pytest.raises(JournalError, match="nothing has been run here yet"):
        await open_journal(tmp_path, readonly=True)
    async with await open_journal(str(tmp_path)) as journal:
        await journal.create(ev.RunCreated(run_id="r1", ref="x:y"), Summary(id="r1", ref="x:y"))
        assert (await journal.describe()).startswith(f"{journal_name(tmp_path)}: ")
        await journal.backup(tmp_path / "copy.db")
    assert journal_exists(tmp_path)
    async with await open_journal(tmp_path, readonly=True) as journal:
        assert [run.id for run in await journal.runs()] == ["r1"]
        assert await journal.check() == []
        with pytest.raises(JournalError, match="for reading only"):
            await journal.prune(max_bytes=0)


async def test_what_is_opened_to_be_read_tells_how_far_it_had_come(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await journal.create(ev.RunCreated(run_id="r1", ref="x:y"), Summary(id="r1", ref="x:y"))
    async with await open_journal(tmp_path, readonly=True) as journal:
        assert await journal.look_for_loss() == ""
        (tmp_path / "journal.db-mark").write_text("00000000000000000007\n")
        assert await journal.look_for_loss() == "it ends at event 1, and had reached 7 before"


async def test_a_url_of_another_store_is_refused_without_showing_its_password() -> None:
    with pytest.raises(JournalError, match=r"^cannot open the journal at mysql://…: name a directory") as caught:
        await open_journal("mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://me:secret@host/db?workspace=news",
        "postgres://host/db?password=secret&workspace=news",
        "postgres://host/db?workspace=news&sslpassword=secret",
    ],
)
async def test_an_address_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(JournalError, match=r"must not hold a password: put it into ~/\.pgpass") as caught:
        await open_journal(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "query", ["", "?workspace=", "?workspace=News", "?workspace=a&workspace=b", "?workspace=a%22b"]
)
async def test_an_address_names_one_workspace(query: str) -> None:
    with pytest.raises(JournalError, match=r"must name one workspace .*an example: postgres://"):
        await open_journal(f"postgres://host/db{query}")


def test_what_libpq_is_given_is_left_as_it_is() -> None:
    address = parse_address(
        "postgresql://ann@a:1,b:2/db?sslmode=verify-full&workspace=news&sslrootcert=%2Fetc%2Fca.pem"
    )
    assert address.conninfo == "postgresql://ann@a:1,b:2/db?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem"
    assert parse_address(address.url) == address
    assert address.schema == "orbiter_news"


def test_a_state_directory_names_its_workspace_on_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    news, other = (f"postgres://host/db?workspace={name}" for name in ("news", "other"))
    for _ in range(2):
        state = make_state_directory(news)
    assert state != make_state_directory(other)
    assert state.is_relative_to(tmp_path)
    assert journal_address(state) == parse_address(news)
    assert journal_exists(state)
    assert journal_name(state) == news == journal_name(news)
    assert make_state_directory(news, tmp_path / "own") == tmp_path / "own"
    with pytest.raises(JournalError, match=r"is the state directory of postgres://host/db\?workspace=news"):
        make_state_directory(other, tmp_path / "own")
    with pytest.raises(JournalError, match="a directory by --state"):
        make_state_directory("somewhere")


async def test_a_directory_with_a_journal_does_not_become_another_ones(tmp_path: Path) -> None:
    async with await open_journal(tmp_path):
        pass
    with pytest.raises(JournalError, match="holds a journal of its own"):
        make_state_directory("postgres://host/db?workspace=news", tmp_path)


def test_without_psycopg_one_line_says_what_to_install() -> None:
    code = (
        "import asyncio, sys; sys.modules['psycopg'] = None; from runtime.record.places import open_journal;"
        "asyncio.run(open_journal('postgres://host/db?workspace=news'))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        "JournalError: a workspace on Postgres needs psycopg 3: pip install 'orbiter-console[postgres]'" in done.stderr
    )


def test_no_store_is_imported_before_a_journal_is_opened() -> None:
    code = "import sys, runtime.record.places; sys.exit(bool({'aiosqlite', 'sqlite3', 'psycopg'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


async def test_an_address_that_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).mkdir()
    with pytest.raises(JournalError, match=rf"cannot read .*/{ADDRESS_FILE}: Is a directory$"):
        await open_journal(tmp_path)
