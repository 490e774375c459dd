"""The demo's swarm: a scout, three who look in parallel, and one who writes it up.

``console.demo.swarm:swarm`` is driven by scripts, without a network. ``console.demo.swarm:<model>`` with the model
string quoted as in a URL (`reference`) is the same swarm on a real model, in whatever process loads it.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

import console.demo.script  # noqa: F401 - registers what the scripted models say
from console.demo.report_place import report_file
from console.demo.script import CATALOGUE_URL, FILES
from console.demo.tools import (
    ask_reader,
    check_file,
    fetch_index,
    list_files,
    read_file,
    write_report,
)
from orbiter import Agent, Swarm

TASK = "Survey the files of this directory and write a report."
FLOW = "scout >> (reader | checker | librarian) >> reporter"


def build(model: str = "") -> Swarm:
    """The swarm, every agent on `model`; without one each follows its script."""
    return Swarm(
        agents=[
            Agent(
                name="scout",
                model=model or "scripted:demo-scout",
                instructions=f"List the files with list_files. Choose {FILES} of different kinds. "
                "Answer with one line for each: '- ' and its path, nothing else.",
                tools=[list_files],
            ),
            Agent(
                name="reader",
                model=model or "scripted:demo-reader",
                instructions="Read each file that is named with read_file. Answer in Markdown under "
                "'## What they say', one bullet for each file: what it is for.",
                tools=[read_file],
                get_retry_policy=lambda: {"max_attempts": 4, "delay_seconds": 0.5, "backoff_factor": 2},
            ),
            Agent(
                name="checker",
                model=model or "scripted:demo-checker",
                instructions="Check each file that is named with check_file. Answer in Markdown under "
                "'## How sound they are', one bullet for each file.",
                tools=[check_file],
            ),
            Agent(
                name="librarian",
                model=model or "scripted:demo-librarian",
                instructions=f"Fetch {CATALOGUE_URL} with fetch_index, once. Answer in Markdown under "
                "'## What the catalogue knows', with one bullet.",
                tools=[fetch_index],
            ),
            Agent(
                name="reporter",
                model=model or "scripted:demo-reporter",
                instructions="Ask with ask_reader for whom the report is. Join what you are given to one report in "
                f"Markdown, and write it with write_report to {report_file()}. "
                "Answer with the file's path.",
                tools=[ask_reader, write_report],
            ),
        ],
        flow=FLOW,
    )


def reference(model: str = "") -> str:
    """How the runtime finds the swarm on `model`."""
    return f"{__name__}:{quote(model, safe='').replace('.', '%2E') if model else 'swarm'}"


def __getattr__(name: str) -> Swarm:
    if name == "swarm":
        return build()
    model = unquote(name)
    if ":" not in model:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return build(model)
