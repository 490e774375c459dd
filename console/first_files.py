"""What a first run in a directory needs: which files that is, and writing those that are not there.

For the verb `init` and for the console's offer. It changes nothing that is there, and imports none of what it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime.config.template import settings_template
from runtime.swarms.definitions import Definition
from runtime.swarms.discovery import find_swarms

SETTINGS_FILE: Final = "orbiter.toml"
EXAMPLE_FILE: Final = "example_swarm.py"
EXAMPLE_TASK: Final = "Count the words of a line"
EXAMPLE: Final = '''\
"""A swarm to begin with: it runs as it is, without a key and without a network.

    orbiter-console run example_swarm.py:swarm "Count the words of a line"

The models are scripts. For real ones, take the two scripts away and say model="anthropic:claude-haiku-4-5" or
model="openai:gpt-5-mini"; the key is read from ANTHROPIC_API_KEY or OPENAI_API_KEY.
"""

from orbiter import Agent, Swarm, tool
from orbiter.models.scripted import Call, Reply, script
from orbiter.types import ToolResult, content_text


@tool(idempotent=True)
def count_words(text: str) -> int:
    """Count the words of a text.

    Args:
        text: What is counted.
    """
    return len(text.split())


@script("example-counter")
def counter(messages, tools):
    last = messages[-1]
    if isinstance(last, ToolResult):
        return f"It has {content_text(last.content)} words."
    return Reply("I count.", calls=[Call("count_words", {"text": content_text(last.content)})])


@script("example-writer")
def writer(messages, tools):
    return f"The answer: {content_text(messages[-1].content)}"


swarm = Swarm(
    agents=[
        Agent(
            name="counter",
            model="scripted:example-counter",
            instructions="Count the words of the task with count_words.",
            tools=[count_words],
        ),
        Agent(name="writer", model="scripted:example-writer", instructions="Say it in one sentence."),
    ],
    flow="counter >> writer",
)
'''


@dataclass(frozen=True, slots=True)
class FirstFiles:
    """What was found in a directory, and the texts of the files that a first run there needs, by name."""

    root: Path
    found: Mapping[str, Definition]
    texts: Mapping[str, str]

    @property
    def missing(self) -> list[str]:
        """The files that are not there yet."""
        places = {name: self.root / name for name in self.texts}
        return [name for name, path in places.items() if not path.exists() and not path.is_symlink()]

    @property
    def first_swarm(self) -> str:
        """What to run first: the user's own, else the example."""
        return next((ref for ref in self.found if ref.partition(":")[0] != EXAMPLE_FILE), f"{EXAMPLE_FILE}:swarm")

    def write(self) -> list[str]:
        """Write what is not there; the names of what was written.

        Raises:
            FileError: one of them cannot be written.
        """
        return [name for name, text in self.texts.items() if write_new(self.root / name, text)]


class FileError(Exception):
    """A file cannot be written. The message says which, and why."""


def plan_first_files(root: Path) -> FirstFiles:
    """Look for swarms, agents and guests below `root`; without one, an example is needed besides the settings."""
    found = find_swarms(root)
    texts = {SETTINGS_FILE: settings_template()}
    if not found or (root / EXAMPLE_FILE).exists():
        texts[EXAMPLE_FILE] = EXAMPLE
    return FirstFiles(root, found, texts)


def write_new(path: Path, text: str) -> bool:
    """Write a file that is not there yet; whether it was.

    Raises:
        FileError: it cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError as exc:
        raise FileError(f"{path} cannot be written: {exc.strerror}") from exc
    return True
