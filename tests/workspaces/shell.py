"""Runs verbs of `orbiter-console`: a line of JSON with the arguments in, a line with the outcome out.

Each verb runs in a fork of this process, with files as its descriptors 1 and 2: it may keep descriptors, threads and
variables as long as it likes. The modules that a verb loaded are loaded here too, so that the next fork has them.

Started with the interpreter of the program under test. It finds the program by its console script, so it needs no name
of any module.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import entry_points
from typing import IO, Any


def main() -> None:
    (script,) = entry_points(group="console_scripts", name="orbiter-console")
    verbs = script.load()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as loaded:
        for line in sys.stdin:
            files = (out, err, loaded)
            for file in files:
                file.seek(0)
                file.truncate()
            child = os.fork()
            if not child:
                _run(verbs, ["orbiter-console", *json.loads(line)], *files)
            code: int | str = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said = [file.read().decode() for file in files if not file.seek(0)]
            code = "traceback" if code == TRACEBACK else code
            _load(said.pop().split())
            print(json.dumps([code, *said]), flush=True)


TRACEBACK = 99


def _run(verbs: Callable[[], object], arguments: list[str], out: IO[bytes], err: IO[bytes], loaded: IO[bytes]) -> None:
    """The verb, in the child; does not return."""
    before = set(sys.modules)
    sys.argv = arguments
    for descriptor, file in ((0, None), (1, out), (2, err)):
        os.dup2(os.open(os.devnull, os.O_RDONLY) if file is None else file.fileno(), descriptor)
    code = 0
    try:
        verbs()
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:  # the program would have ended with a traceback
        code = TRACEBACK
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    loaded.write(" ".join(name for name in sys.modules if name not in before).encode())
    loaded.flush()
    os._exit(code)


def _load(modules: list[str]) -> None:
    """In the order in which the verb loaded them. What cannot be found from here is the user's code."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)
    if modules and "pydantic" in sys.modules:
        _build(sys.modules["pydantic"].BaseModel)
    gc.freeze()  # or each verb looks through all of it, and copies its pages


def _build(model: Any) -> None:
    """Build what pydantic builds at its first use, so that no verb has to."""
    for found in model.__subclasses__():
        if not found.__pydantic_complete__:
            found.model_rebuild(raise_errors=False)
        _build(found)


if __name__ == "__main__":
    main()
