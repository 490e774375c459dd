"""The schema of the settings: sections, keys, types, defaults and what each means.

The only place where a setting is declared (those of faults: `orbiter.policy.ErrorHandlingConfig`; those of the console,
which are needed before pydantic is loaded: `console.preferences.schema`). Reading files and variables, `config`, the
settings page and the tables of `docs/configuration.md` go through its fields (`runtime.config.schema_keys`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from orbiter.guests.tool_settings import ToolSettings
from orbiter.mcp.definition import DEFAULT_CONNECT_TIMEOUT_S, DEFAULT_TIMEOUT_S, GrantType
from runtime.execution.execution_config import EngineName, SwarmLimit
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.permissions.patterns import Kind
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.recovery.option_table import OPTIONS, agent_options
from runtime.judgement.reports.notices import QUIET_S
from runtime.judgement.reports.prices import Price
from runtime.judgement.traces.span import Flavour
from runtime.record.state.fault_taxonomy import Severity
from runtime.record.state.operator_terms import DEFAULT_QUEUE, QUEUE_NAME
from runtime.record.workers import CodePolicy

QueueName = Annotated[str, Field(pattern=QUEUE_NAME)]
OWN_FILE: Final = "own_file"
"""The mark of a setting that counts only in the user's own file: what a workspace brings along must not say it."""


class AnalysisSettings(BaseModel):
    """Who analyses incidents."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str = Field(
        default="auto",
        description=(
            "who analyses incidents: a model string, several with commas between them (the next is "
            'asked where one fails), `"auto"` (providers whose key is set; the one that failed comes last), '
            'or `"off"`'
        ),
    )


class RuntimeSettings(BaseModel):
    """How runs are driven. Times in seconds. What `ExecutionConfig` has under the same name is given to each run."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    grace_s: float = Field(
        default=60.0,
        ge=0,
        allow_inf_nan=False,
        description="seconds for which everything must have been waiting before a run leaves memory",
    )
    env_file: str = Field(
        default="", description="a file with variables for the runtime, keys above all; seen from the workspace"
    )
    python: str = Field(
        default="",
        description="the interpreter that runs the swarms; not set: `$VIRTUAL_ENV`, `.venv`, the program's own",
    )
    stall_s: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="seconds without progress after which an incident opens; not set: never",
    )
    handoff_rounds: int = Field(
        default=3,
        ge=0,
        description="how often agents may hand on in the same circle before an operator is asked; `0`: never",
    )
    fallbacks: tuple[str, ...] = Field(default=(), description="models for every agent, tried after its own")
    import_limit_s: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description=(
            "how long the import of a swarm's file may take before it is given up, with an incident that names the file"
        ),
    )

    secret_keys_file: str = Field(
        default="",
        description=(
            "a file with the workspace's private keys, seen from the workspace; secrets given as answers are sealed to"
            " the newest, so that each worker that has the file can go on with them; `database key FILE` makes one"
        ),
    )
    slots: int = Field(default=64, ge=1, description="how many runs a worker drives at once")
    engine: EngineName = Field(
        default="local",
        description=(
            '`"local"`: each worker takes runs by itself; `"dbos"`: DBOS gives them to workers, with `[limits]` over'
            " all of them, in a workspace on Postgres ([operations](operations.md#limits-over-all-workers))"
        ),
    )
    code: str = Field(
        default="",
        max_length=80,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description=(
            "the label of the code that is here, for example a commit; runs with another label are for other workers"
        ),
    )
    queues: tuple[QueueName, ...] = Field(
        default=(),
        description=(
            "the queues whose runs a worker drives; empty: the queue `default` (see `[swarms]`). The runtime of a"
            " directory drives all runs"
        ),
    )
    code_policy: CodePolicy = Field(
        default="pinned",
        description=(
            '`"pinned"`: a run stays with the label that it began with until it is moved (`move`); `"latest"`: a worker'
            " of the newest label takes over runs that no worker drives"
        ),
    )


class SwarmSettings(BaseModel):
    """What holds for the runs of one swarm; the table's name is its reference, or the end of it, as `news.py:desk`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    queue: QueueName = Field(
        default=DEFAULT_QUEUE,
        description="the queue of its runs; only workers that take it drive them. `run --queue` takes precedence",
    )


class PermissionSettings(BaseModel):
    """What steps may do, in the words of `runtime.judgement.permissions.policy`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    default: Literal["allow", "ask", "deny"] = Field(
        default="ask", description='`"allow"`, `"ask"` or `"deny"`, where no line fits'
    )
    allow: tuple[str, ...] = Field(
        default=(), description="lines of `verb:pattern`, also with an agent's name in front: allowed without asking"
    )
    ask: tuple[str, ...] = Field(default=(), description="lines of the same form: an operator is asked")
    deny: tuple[str, ...] = Field(default=(), description="lines of the same form: always refused")
    verbs: dict[str, Kind] = Field(
        default_factory=dict,
        description=(
            'the class of a verb\'s objects: `"path"`, `"url"`, `"command"` or `"name"`; a verb that '
            "is not named is read as a command. The classes of `fs`, `net`, `shell`, "
            "`agent.invoke` and `mcp` are fixed"
        ),
    )


class NoticeSettings(BaseModel):
    """From which severity on each channel is told of incidents (see `runtime.judgement.reports.notices`).

    A channel that is not set is silent. Where no channel is set, a console rings and writes for every decision, and
    `errors.notification_channels` says which channels of the runtime (`log`, `webhook`) get critical incidents.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    bell: Severity | None = Field(default=None, description="the terminal's bell")
    terminal: Severity | None = Field(default=None, description="the terminal's title, and a notice of the terminal")
    log: Severity | None = Field(default=None, description="the runtime's log")
    webhook: Severity | None = Field(default=None, description="a POST to `webhook_url`")
    webhook_url: str = Field(default="", description="an http or https address")
    quiet_seconds: float = Field(
        default=QUIET_S,
        ge=0,
        le=86_400,
        allow_inf_nan=False,
        description="seconds after a notice in which further messages are gathered into the next one",
    )


class RedactionSettings(BaseModel):
    """What is masked, and where."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    patterns: tuple[str, ...] = Field(
        default=(),
        description=(
            "regular expressions of texts that are masked in analyses, log files, notices and exports; "
            "keys and tokens are masked anyway ([secrets](recovery.md#secrets))"
        ),
    )
    redact_views: bool = Field(
        default=False,
        description=(
            "`true` masks secrets also in consoles and in what verbs print: for a display that others can see"
        ),
    )


class HostSettings(BaseModel):
    """A runtime on another machine, for `--host` with its name. Only the user's own file may name hosts: what a
    workspace brings along must not choose where the user logs in, nor what runs there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    address: str = Field(min_length=1, description="`[user@]host[:path]`")
    command: str = Field(default="orbiter-console", min_length=1, description="the program on that machine")
    viewer: bool = Field(default=False, description="only look")
    start: bool = Field(default=False, description="start a runtime there if none works")


class GuestSettings(BaseModel):
    """`tools`: what is declared of tools of guests, by the tool's name, over what their authors declared."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    tools: dict[str, ToolSettings] = Field(
        default_factory=dict, description="one table for each tool, by the tool's name"
    )


class ServerSettings(BaseModel):
    """An MCP server, beside those of the workspace's `.mcp.json`: either `command` or `url`. A table with only
    time limits or `tools` is about the server of that name in `.mcp.json`.

    ``${NAME}`` and ``${NAME:-default}`` stand for variables of the environment. A server of the user's own file is
    trusted; one of the workspace's is started only after it was approved.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    command: str = Field(default="", description="the program to start; it is spoken to over its standard streams")
    args: tuple[str, ...] = Field(default=(), description="its arguments")
    env: dict[str, str] = Field(
        default_factory=dict, description="variables that it gets beside `HOME`, `PATH` and the like"
    )
    url: str = Field(default="", description="the address of a server over HTTP")
    headers: dict[str, str] = Field(default_factory=dict, description="what is sent to it with each request")
    client_id: str = Field(default="", description="by which an authorization server (OAuth) knows this program")
    client_secret: str = Field(default="", description="its secret, as `${NAME}`; a login by a person may need none")
    issuer: str = Field(default="", description="the authorization server that gave them; they are sent to no other")
    grant_type: GrantType = Field(
        default="client_credentials", description="how to log in with them: `authorization_code` where a person does"
    )
    timeout_s: float = Field(
        default=DEFAULT_TIMEOUT_S,
        gt=0,
        allow_inf_nan=False,
        description="seconds for one call; time in which a person is asked does not count",
    )
    connect_timeout_s: float = Field(
        default=DEFAULT_CONNECT_TIMEOUT_S,
        gt=0,
        allow_inf_nan=False,
        description="seconds until it has started and answered; the first start of a package downloads it",
    )
    tools: dict[str, ToolSettings] = Field(
        default_factory=dict, description="what is declared of its tools, one table for each, by the server's own names"
    )


class OtelSettings(BaseModel):
    """Traces and metrics for OpenTelemetry. Where they go is said by the standard `OTEL_*` variables."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    enabled: bool = Field(
        default=False,
        description=(
            "`true` sends traces and metrics of runs over OTLP, to `OTEL_EXPORTER_OTLP_ENDPOINT` "
            "(`http://localhost:4318` where it is not set); needs the extra `otel`"
        ),
    )
    flavours: tuple[Flavour, ...] = Field(
        default=(),
        description=(
            'services whose own attributes are sent beside those of the conventions: `"langfuse"`, `"phoenix"`'
        ),
    )
    content: bool = Field(
        default=False,
        description="`true` sends messages, arguments and results, too, redacted",
    )


class McpSettings(BaseModel):
    """`servers`: MCP servers, one table for each, by name. The others: what agents may do that ask over
    `orbiter-console mcp`, which only a file of the user's own says.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    may_answer: tuple[str, ...] = Field(
        default=(),
        json_schema_extra={OWN_FILE: True},
        description=(
            "options that an agent may answer incidents with, of "
            + ", ".join(f"`{each}`" for each in agent_options())
            + "; others it may propose. Only in your own file"
        ),
    )
    may_act: tuple[Literal["start_run", "freeze_run", "abort_run"], ...] = Field(
        default=(),
        json_schema_extra={OWN_FILE: True},
        description="what else an agent may do: `start_run`, `freeze_run`, `abort_run`. Only in your own file",
    )
    servers: dict[str, ServerSettings] = Field(default_factory=dict, description="one table for each server, by name")

    @field_validator("may_answer")
    @classmethod
    def _for_agents(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for option in given:
            if option not in agent_options():
                known = "is never answered by an agent" if option in OPTIONS else "is not a known option"
                raise ValueError(f"{option!r} {known}: there may be {', '.join(agent_options())}")
        return given


class Settings(BaseModel):
    """All that can stand in the file, by section."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    errors: FaultHandling = Field(default_factory=FaultHandling)
    budgets: Budget = Field(default_factory=Budget)
    permissions: PermissionSettings = Field(default_factory=PermissionSettings)
    analysis: AnalysisSettings = Field(default_factory=AnalysisSettings)
    notices: NoticeSettings = Field(default_factory=NoticeSettings)
    redaction: RedactionSettings = Field(default_factory=RedactionSettings)
    runtime: RuntimeSettings = Field(default_factory=RuntimeSettings)
    limits: dict[str, SwarmLimit] = Field(default_factory=dict)
    swarms: dict[str, SwarmSettings] = Field(default_factory=dict)
    guests: GuestSettings = Field(default_factory=GuestSettings)
    mcp: McpSettings = Field(default_factory=McpSettings)
    otel: OtelSettings = Field(default_factory=OtelSettings)
    hosts: dict[str, HostSettings] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    console: dict[str, Any] = Field(default_factory=dict)
    """The console's own, and `keys` too.

    It checks them when it opens (`console.preferences.schema`, `console.preferences.keymap`).
    """
    keys: dict[str, Any] = Field(default_factory=dict)
