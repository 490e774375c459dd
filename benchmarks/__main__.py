"""Run benchmarks and print their ratios."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict

from benchmarks import Ratio, modules


def main() -> int:
    known = modules()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("module", nargs="*", help=f"which to run (default: all): {', '.join(sorted(known))}")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed (not on a busy machine)")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.module if name not in known]:
        parser.error(f"unknown benchmark {', '.join(unknown)}; the benchmarks are: {', '.join(sorted(known))}")
    missed = False
    for name in chosen.module or sorted(known):
        module = importlib.import_module(known[name])
        run = getattr(module, "run", None)
        if run is None or run.__module__ != module.__name__:  # a part of a benchmark, which may import `orbiter.run`
            continue
        for ratio in run():
            missed = missed or not ratio.met
            show(name, ratio, as_json=chosen.json)
    return int(missed and chosen.strict)


def show(module: str, ratio: Ratio, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"module": module, **asdict(ratio), "met": ratio.met}), flush=True)
        return
    goal = "" if ratio.goal is None else f"goal {ratio.goal:g}{'' if ratio.met else '  MISSED'}"
    print(f"{module:<10} {ratio.name:<62} {ratio.value:8.2f}  {goal:<16} {ratio.note}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
