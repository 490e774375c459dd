"""Makes the kept workspaces (`tests/data/workspaces`) with an older program. See `tests/data/workspaces/README.md`.

git worktree add /tmp/orbiter-old 92d48fd && (cd /tmp/orbiter-old && .ci/venv)
.venv/bin/python -m tests.workspaces.make /tmp/orbiter-old/.venv/bin/python [WORKSPACE...]
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.workspaces import kept
from tests.workspaces.kept import DATA, OVER, Operator, Scenario, Verbs
from tests.workspaces.scenarios import CONTROLLED, FINISHED, HEADLESS, KILLED, PARKED

ASKING = """[errors]
max_attempts = 2
base_retry_delay = 0.01
circuit_breaker_threshold = 8
circuit_breaker_timeout = 4e9

[permissions]
deny = ["shell:rm *"]
ask = ["chief agent.invoke:guest"]

[analysis]
model = "off"

[notices]
log = "info"
"""
HEADLESS_TOML = """[errors]
enable_error_routing = false
max_attempts = 2
base_retry_delay = 0.01

[analysis]
model = "off"
"""
AT_REST = OVER | {"waiting", "frozen"}


def begin(verbs: Verbs, scenario: Scenario) -> str:
    """Start a run beside the runtime and follow it until it ends or waits; its id."""
    known = {each["id"] for each in verbs.json("runs", "--limit", "1000")}
    verbs("run", scenario.ref, scenario.input, *scenario.options, codes=(0, 1, 3))
    (new,) = {each["id"] for each in verbs.json("runs", "--limit", "1000")} - known
    return str(new)


def until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)


def at_rest(verbs: Verbs) -> bool:
    return all(each["state"] in AT_REST for each in verbs.json("runs", "--limit", "1000"))


def parked(verbs: Verbs) -> None:
    """Every finished run, and every kind of incident."""
    (verbs.root / "orbiter.toml").write_text(ASKING)
    dying = [each for each in PARKED if each.ref.endswith(":dier")]
    for scenario in dying:
        _die(verbs, scenario)
    with verbs.serving():
        operator = Operator(verbs, {each.input: each.before for each in (*FINISHED, *PARKED)})
        for scenario in (*FINISHED, *PARKED):
            if scenario not in dying:
                begin(verbs, scenario)
        until("at rest", lambda: at_rest(verbs))
        (verbs.root / "changed").touch()
        (verbs.root / "companion.py").unlink()
        while operator.look():
            until("at rest", lambda: at_rest(verbs))
        run = ids(verbs)["auth"]
        verbs("inject", run, "auth", "a word that waits")
        grants = {each["pattern"]: each["id"] for each in verbs.json("grants")}
        verbs("revoke", next(each for pattern, each in grants.items() if "data/" in pattern))
        verbs("digest")


def _die(verbs: Verbs, scenario: Scenario) -> None:
    """A run whose tool kills the runtime in the middle of its call."""
    with verbs.serving() as runtime, follower(verbs, scenario) as following:
        runtime.wait(timeout=60)
        following.kill()


def follower(verbs: Verbs, scenario: Scenario) -> subprocess.Popen[bytes]:
    """A `run` in a process of its own: it asks for the run, and the runtime drives it."""
    return subprocess.Popen(
        [verbs.python, "-m", "console", "run", scenario.ref, scenario.input, *scenario.options],
        cwd=verbs.root,
        env=verbs.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def started(verbs: Verbs, scenarios: Sequence[Scenario]) -> dict[str, str]:
    """Start runs that go on by themselves; ids by input."""
    for scenario in scenarios:
        count = len(verbs.json("runs"))
        with follower(verbs, scenario) as following:
            until(f"{scenario.input} began", lambda count=count: len(verbs.json("runs")) > count)  # type: ignore[misc]
            following.kill()
    return ids(verbs)


def ids(verbs: Verbs) -> dict[str, str]:
    return {verbs.json("show", each["id"])[0]["input"]: each["id"] for each in verbs.json("runs", "--limit", "1000")}


def killed(verbs: Verbs) -> None:
    """A runtime that was killed with steps under way, and what was asked for after that."""
    (verbs.root / "orbiter.toml").write_text(ASKING)
    with verbs.serving() as runtime:
        found = started(verbs, KILLED)
        begun = [
            "linger g2",
            "linger slow",
            "linger p2",
            "linger hand",
            "watch w2",
            "watch patient",
            "watch p3",
            "think",
        ]
        until("all under way", lambda: set(begun) <= set(verbs.effects()) and verbs.effects().count("linger g2") == 4)
        until("asked", lambda: len(verbs.json("incidents")) == 2)
        until("retrying", lambda: "retrying" in verbs("show", found["limited"], "--json"))
        runtime.kill()
        runtime.wait()
    (asked,) = [each["id"] for each in verbs.json("incidents") if each["question"]]
    verbs("answer", asked, "input", "--value", "answered while dead")
    verbs("abort", found["to be aborted"], "--reason", "asked for while dead")
    verbs("fork", found["watcher"])
    verbs("inject", found["left out"], "lingerer", "a word")


def controlled(verbs: Verbs) -> None:
    """Frozen, forked, rewound, stopped, at a breakpoint, waiting to retry."""
    (verbs.root / "orbiter.toml").write_text(ASKING)
    with verbs.serving():
        done, forked, *_ = [begin(verbs, each) for each in CONTROLLED[:2]]
        (called,) = [each["id"] for each in verbs.json("show", done)[0]["nodes"] if each["name"] == "note"]
        verbs("rewind", done, called, "--yes", "--reason", "once more")
        until("at rest", lambda: at_rest(verbs))
        (called,) = [each["id"] for each in verbs.json("show", forked)[0]["nodes"] if each["name"] == "note"]
        verbs("fork", forked, called, "--arguments", '{"text": "forked"}')
        found = started(verbs, CONTROLLED[2:4])
        until("lingers", lambda: "linger g2" in verbs.effects())
        until("retrying", lambda: "retrying" in verbs("show", found["limited"], "--json"))
        begin(verbs, CONTROLLED[4])
        verbs("freeze", "--all", "--reason", "a look at all of them")
        found = started(verbs, CONTROLLED[5:8])
        until("frozen", lambda: [each["state"] for each in verbs.json("runs")].count("frozen") >= 4)
        verbs("break", found["stopped at a breakpoint"], "tool:no*")
        verbs("break", found["broken at an agent"], "agent:chat*")
        verbs("thaw", found["stopped at a breakpoint"])
        verbs("thaw", found["broken at an agent"])
        until("breakpoints", lambda: len(verbs.json("incidents")) == 3)
    with verbs.serving():  # frozen runs, stopped runs
        verbs("freeze", "--swarm", "swarms.py:team", "--reason", "a swarm")
        found = started(verbs, CONTROLLED[8:])
        for name in ("injected", "rewind with other arguments"):
            verbs("thaw", found[name])
        until("asked", lambda: len(verbs.json("incidents")) == 5)
        verbs("inject", found["injected"], "single_asker", "a word")
    shown = verbs.json("show", found["rewind with other arguments"])[0]
    (called,) = [each["id"] for each in shown["nodes"] if each["name"] == "reach"]
    verbs("rewind", shown["id"], called, "--arguments", '{"host": "up"}', "--yes")


def headless(verbs: Verbs) -> None:
    """No operator is asked: the safe default at once."""
    (verbs.root / "orbiter.toml").write_text(HEADLESS_TOML)
    with verbs.serving():
        for scenario in HEADLESS:
            begin(verbs, scenario)
        until("over", lambda: all(each["state"] in OVER for each in verbs.json("runs")))


WORKSPACES: dict[str, tuple[Callable[[Verbs], None], Sequence[Scenario]]] = {
    "parked": (parked, (*FINISHED, *PARKED)),
    "killed": (killed, KILLED),
    "controlled": (controlled, CONTROLLED),
    "headless": (headless, HEADLESS),
}


def neutral(python: str) -> dict[str, str]:
    """What names this machine, and what is kept instead."""
    program = str(Path(python).absolute().parents[2])
    prefix = subprocess.check_output([python, "-c", "import sys; print(sys.base_prefix)"], text=True).strip()
    owner = f"{socket.gethostname()}:"
    return {program: "/opt/orbiter-console", prefix: "/usr", f'"{owner}': '"machine:', f"'{owner}": "'machine:"}


def make(python: str, name: str) -> None:
    fill, scenarios = WORKSPACES[name]
    with tempfile.TemporaryDirectory(prefix="orbiter-kept-") as folder:
        root = Path(folder) / "made"
        root.mkdir()
        for each in ("swarms.py", "vanished.py", "companion.py"):
            shutil.copy(DATA / each, root / each)
        with Verbs(root, python) as verbs:
            fill(verbs)
            if name == "parked":
                export(verbs)
        kept.keep(root, name, neutral(python))
        again = Path(folder) / "again"
        again.mkdir()
        with Verbs(kept.opened(name, again), python) as verbs:
            reported = kept.report(verbs)
            _write(name, "record.json.gz", reported)
            kept.resume(verbs, scenarios)
            after = kept.outcome(kept.report(verbs), (run["id"] for run in reported["runs"]))
            _write(name, "outcome.json.gz", {"runs": after, "effects": sorted(verbs.effects())})


def export(verbs: Verbs) -> None:
    """Files of `export`: a finished run, and a parked one."""
    found = ids(verbs)
    for name, text in (("finished", "team"), ("waiting", "stage")):
        verbs("export", found[text], "--output", str(DATA / f"{name}.export"), "--force")
        path = DATA / f"{name}.export"
        content = path.read_text()
        for old, new in {str(verbs.root): "/srv/kept", **neutral(verbs.python)}.items():
            content = content.replace(old, new)
        path.write_text(content)


def _write(name: str, file: str, what: object) -> None:
    text = json.dumps(what, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    (DATA / name / file).write_bytes(gzip.compress(text.encode(), mtime=0))


def main(arguments: Iterable[str]) -> None:
    python, *names = arguments
    for name in names or WORKSPACES:
        make(os.path.abspath(python), name)  # noqa: PTH100 - a link to an interpreter must stay one


if __name__ == "__main__":
    main(sys.argv[1:])
