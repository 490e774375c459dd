"""Kept workspaces: how they are opened, what a program reports about them, and how their runs are driven to the end.

Used by the generator (`make.py`, with the program that made them) and by the tests (with the program of today), so
both do the same. Everything goes through `orbiter-console` as a user calls it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

DATA = Path(__file__).parents[1] / "data" / "workspaces"
SHELL = Path(__file__).with_name("shell.py")
USER = "operator"
ROOT = "@ROOT@"
"""Stands in the kept files for the directory of the workspace."""
OVER = frozenset({"completed", "degraded", "failed", "interrupted", "aborted"})
LONG = 2_000
Json = dict[str, Any]
Answer = tuple[str, ...]
"""A text that stands in the incident's node or cause, the option, and its further arguments."""


@dataclass(frozen=True)
class Scenario:
    """A run: its swarm, its input (which identifies it), and the answers that are given before and after keeping."""

    ref: str
    input: str
    options: tuple[str, ...] = ()
    before: tuple[Answer, ...] = ()
    after: tuple[Answer, ...] = ()


class Verbs:
    """`orbiter-console` in one workspace: verbs in one process, and a runtime in another."""

    def __init__(self, root: Path, python: str = sys.executable) -> None:
        self.root = root
        self.python = python
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORBITER_", "XDG_"))}
        self.environ = {
            **{name: value for name, value in kept.items() if not name.endswith("_API_KEY")},
            "LOGNAME": USER,
            "PYTHONUTF8": "1",
            "XDG_CONFIG_HOME": str(root / "no-configuration"),
        }

    def __enter__(self) -> Self:
        self._shell = subprocess.Popen(
            [self.python, "-P", str(SHELL)],
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._shell:
            self._shell.kill()

    def ended(self, *arguments: str) -> tuple[int | str, str, str]:
        """The exit code of a verb (or "traceback"), and what it wrote to stdout and stderr."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(json.dumps(arguments) + "\n")
        self._shell.stdin.flush()
        code, out, err = json.loads(self._shell.stdout.readline())
        return code, out, err

    def __call__(self, *arguments: str, codes: Sequence[int] = (0,)) -> str:
        code, out, err = self.ended(*arguments)
        assert code in codes, f"{arguments} ended with {code}: {err or out}"
        return out

    def json(self, *arguments: str) -> list[Json]:
        return [json.loads(line) for line in self(*arguments, "--json").splitlines()]

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        """A runtime that has begun to drive; it ends cleanly, unless it was killed."""
        with subprocess.Popen(
            [self.python, "-m", "console", "serve", "--foreground", "--grace", "0"],
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stderr is not None
                # What waited before is told in the log, which may be earlier.
                assert any("driving the runs" in line for line in process.stderr)
                yield process
                process.terminate()
                assert process.wait(timeout=60) in (0, -signal.SIGKILL), process.stderr.read()
            finally:
                process.kill()

    def effects(self) -> list[str]:
        path = self.root / "effects.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


# -- keeping and opening -----------------------------------------------------------------------------------------------


def keep(root: Path, name: str, replaced: Mapping[str, str]) -> None:
    """Write a workspace whose processes have ended into the data of the tests, as SQL; `replaced` texts are put in
    place of what names the machine.
    """
    target = DATA / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    with closing(sqlite3.connect(root / ".orbiter" / "journal.db")) as journal, journal:
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pragmas = [
            f"PRAGMA {pragma} = {journal.execute(f'PRAGMA {pragma}').fetchone()[0]};"
            for pragma in ("application_id", "user_version")
        ]
        text = "\n".join(["PRAGMA auto_vacuum = INCREMENTAL;", *journal.iterdump(), *pragmas]) + "\n"
    journal.close()
    for old, new in {str(root): ROOT, **replaced}.items():
        text = text.replace(old, new)
    with (target / "journal.sql.gz").open("wb") as file:
        file.write(gzip.compress(text.encode(), mtime=0))
    for each in ("orbiter.toml", "effects.log"):
        if (root / each).exists():
            shutil.copy(root / each, target / each)


def opened(name: str, root: Path) -> Path:
    """The kept workspace, in the directory `root`."""
    text = gzip.decompress((DATA / name / "journal.sql.gz").read_bytes()).decode()
    (root / ".orbiter").mkdir(mode=0o700)
    journal = sqlite3.connect(root / ".orbiter" / "journal.db", isolation_level=None)
    journal.executescript(text.replace(ROOT, str(root)))
    journal.execute("PRAGMA journal_mode = WAL")
    journal.close()
    for each in ("swarms.py", "vanished.py"):
        shutil.copy(DATA / each, root / each)
    for each in ("orbiter.toml", "effects.log"):
        if (DATA / name / each).exists():
            shutil.copy(DATA / name / each, root / each)
    (root / "changed").touch()
    return root


def mend(root: Path) -> None:
    """From now on nothing fails that failed because of the world."""
    (root / "changed").unlink(missing_ok=True)
    shutil.copy(DATA / "companion.py", root / "companion.py")
    (root / "mended").touch()


# -- what a program reports --------------------------------------------------------------------------------------------

RUN = ("id", "ref", "title", "state", "input", "output", "error", "lives", "wake_at")
NODE = ("id", "parent_id", "kind", "name", "agent", "state", "attempts", "requested", "output", "result", "error",
        "warnings")  # fmt: skip
INCIDENT = ("id", "state", "node_id", "opened_at", "fingerprint", "revision", "safe", "in_doubt", "deadline", "lineage",
            "task", "action", "question", "answer_schema", "error_type", "message", "causes")  # fmt: skip
FAULT = ("origin", "cause", "persistence", "effect", "impact", "rule_id", "limit", "http_status", "code")
GRANT = ("id", "subject", "verb", "pattern", "lifetime", "scope", "until", "incident_id")
ANSWER = ("option", "params", "reach", "reason", "by")
NEW_EACH_TIME = {"id", "opened_at", "deadline", "revision", "grant_id", "incident_id", "lives", "wake_at"}


def chosen(found: Mapping[str, Any], names: Iterable[str]) -> Json:
    return {name: found[name] for name in names if name in found}


def shortened(value: Any, root: Path) -> Any:
    """As JSON, without the place of the workspace, and long texts by their digest."""
    if isinstance(value, Mapping):
        return {str(name): shortened(each, root) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(each, root) for each in value]
    if not isinstance(value, str):
        return value
    text = value.replace(str(root), ROOT)
    return text if len(text) <= LONG else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def report(verbs: Verbs) -> Json:
    """What the program says about a workspace: paths, states, fingerprints, options, answers, grants, breakers."""
    runs = [verbs.json("show", str(each["id"]))[0] for each in verbs.json("runs", "--limit", "1000")]
    found = {
        "runs": sorted((_run(each) for each in runs), key=lambda run: str(run["id"])),
        "open": sorted(str(each["id"]) for each in verbs.json("incidents")),
        "grants": sorted(
            (chosen(each, GRANT) for each in verbs.json("grants", "--all")), key=lambda each: str(each["id"])
        ),
        "breakers": [chosen(each, ("id", "state", "failures")) for each in verbs.json("breakers", "--all")],
        "audit": [chosen(each, ("incident_id", "run_id", "option", "by", "what")) for each in verbs.json("audit")],
    }
    shown: Json = shortened(found, verbs.root)
    return shown


def _run(shown: Json) -> Json:
    return {
        **chosen(shown, RUN),
        "nodes": [chosen(each, NODE) for each in shown["nodes"]],
        "incidents": [_incident(each) for each in shown["incidents"]],
    }


def _incident(shown: Json) -> Json:
    return {
        **chosen(shown, INCIDENT),
        "fault": chosen(shown["fault"], FAULT),
        "options": [chosen(each, ("id", "needs")) for each in shown["options"]],
        "answer": None if shown["answer"] is None else chosen(shown["answer"], ANSWER),
    }


def outcome(reported: Json, before: Iterable[str]) -> list[Json]:
    """What became of each run, without what is new each time: ids and times of what happened after `before`."""
    old = frozenset(before)

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items() if name not in NEW_EACH_TIME}
        return [plain(each) for each in value] if isinstance(value, list) else value

    found: list[Json] = []
    for run in reported["runs"]:
        shown = {
            **plain({name: each for name, each in run.items() if name != "incidents"}),
            "incidents": sorted(
                (plain(each) for each in run["incidents"]), key=lambda each: json.dumps(each, sort_keys=True)
            ),
        }
        found.append({"id": run["id"], **shown} if run["id"] in old else shown)
    return sorted(found, key=lambda run: json.dumps([run["input"], run.get("id", ""), run["output"]]))


def without_wording(runs: Iterable[Json]) -> list[Json]:
    """An outcome without the sentences of its incidents, which may be worded better now (a fingerprint is made of the
    message), and without the attempts of steps that have children: every life begins them again, and how many lives
    there are depends on how quickly a question is answered. A question that a tool asks offers `deny` beside `input`
    now; both need a text. A spent replanning is a failure now, with the options of one.
    """

    def facts(incident: Json) -> Json:
        found = {name: each for name, each in incident.items() if name not in ("message", "causes", "fingerprint")}
        needs = [each["needs"] for each in found["options"]]
        if found["fault"]["cause"] == "missing_input" and needs[:2] == ["text", "text"]:
            found["options"] = found["options"][1:]
        if found["fault"]["cause"] == "missing_input" and "arguments" in needs:
            found["options"] = [{"needs": each} for each in ("text", "", "")]
        return found

    return [
        {
            **run,
            "nodes": [_without_attempts(node, run["nodes"]) for node in run["nodes"]],
            "incidents": sorted(map(facts, run["incidents"]), key=lambda each: json.dumps(each, sort_keys=True)),
        }
        for run in runs
    ]


def _without_attempts(node: Json, nodes: Iterable[Json]) -> Json:
    path = f"{node['parent_id']}/{node['name']}~"
    if not any(str(each["parent_id"]).startswith(path) for each in nodes):
        return node
    return {name: each for name, each in node.items() if name != "attempts"}


_UTC_OFFSET = re.compile(r"(?<=\d)\+00:00$")


def differences(before: Any, now: Any) -> list[str]:
    """In what two reports differ, each as ``path: before -> now``. One instant has two forms: programs up to 0.1.0
    print ``+00:00`` in some objects and ``Z`` in others; since then it is ``Z`` in all. They called a run after its
    swarm; now it is called after its input.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        if str(before.get("title", "")).endswith(str(before.get("ref", "-")).rpartition("/")[2]) and now.get("title"):
            before = {**before, "title": now["title"]}
        pairs = {str(name): (before.get(name), now.get(name)) for name in sorted(before.keys() | now.keys())}
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = {str(number): pair for number, pair in enumerate(zip(before, now, strict=True))}
    else:
        same = before == now or (isinstance(before, str) and _UTC_OFFSET.sub("Z", before) == now)
        return [] if same else [f": {before!r} -> {now!r}"]
    return [f"/{name}{found}" for name, pair in pairs.items() for found in differences(*pair)]


# -- driving -----------------------------------------------------------------------------------------------------------


@dataclass
class Operator:
    """Answers incidents as the scenarios say: each answer once for each run."""

    verbs: Verbs
    answers: Mapping[str, Sequence[Answer]]
    given: dict[str, list[Answer]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)

    def look(self) -> int:
        """Answer what is open and has an answer; how many were given."""
        count = 0
        for incident in self.verbs.json("incidents"):
            if incident["id"] not in self.answered and (answer := self._answer(incident)) is not None:
                # A deadline that has passed may be quicker.
                self.verbs("answer", str(incident["id"]), *answer, codes=(0, 2) if incident["deadline"] else (0,))
                self.answered.add(str(incident["id"]))
                count += 1
        return count

    def _answer(self, incident: Json) -> Answer | None:
        run = str(incident["run_id"])
        if run not in self.given:
            self.given[run] = list(self.answers.get(self.verbs.json("show", run)[0]["input"], ()))
        left = self.given[run]
        place = f"{incident['node_id']} {incident['fault']['cause']} {incident['question']}"
        for answer in left:
            if answer[0] in place:
                left.remove(answer)
                return answer[1:]
        return None

    def drive(self, over: frozenset[str] = OVER) -> None:
        """Answer until every run is in one of these states."""
        deadline = time.monotonic() + 150
        while left := [each for each in self.verbs.json("runs", "--limit", "1000") if each["state"] not in over]:
            if self.look() == 0:
                time.sleep(0.25)  # each look is three processes: they would take the time from the runs
            assert time.monotonic() < deadline, self._stuck(left)

    def _stuck(self, left: list[Json]) -> str:
        waiting = [(each["run_id"], each["node_id"], each["message"]) for each in self.verbs.json("incidents")]
        return f"not over: {[(each['id'], each['input'], each['state']) for each in left]}; open: {waiting}"


def resume(verbs: Verbs, scenarios: Iterable[Scenario]) -> None:
    """Mend the world, thaw, and drive every run of the workspace to its end."""
    mend(verbs.root)
    with verbs.serving():
        verbs("thaw", "--all", codes=(0, 2))
        Operator(verbs, {each.input: each.after for each in scenarios}).drive()
