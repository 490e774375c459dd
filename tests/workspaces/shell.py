"""Runs verbs of `orbiter-console` in one process: a line of JSON with the arguments in, a line with the outcome out.

Started with the interpreter of the program under test. It finds the program by its console script, so it needs no name
of any module.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import entry_points


def main() -> None:
    (script,) = entry_points(group="console_scripts", name="orbiter-console")
    verbs = script.load()
    for line in sys.stdin:
        sys.argv = ["orbiter-console", *json.loads(line)]
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        code: object = 0
        environ = dict(os.environ)
        with redirect_stdout(out), redirect_stderr(err):
            try:
                verbs()
            except SystemExit as exc:
                code = exc.code
            except BaseException:  # the program would have ended with a traceback
                code = "traceback"
                traceback.print_exc(file=err)
        os.environ.clear()
        os.environ.update(environ)  # `--state` sets a variable
        said = [stream.buffer.getvalue().decode() for stream in (out, err)]
        print(json.dumps([code, *said]), flush=True)


if __name__ == "__main__":
    main()
