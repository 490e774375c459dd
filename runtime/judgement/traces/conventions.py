"""The names that spans and metrics are written with, in one table.

`gen_ai.*` are those of OpenTelemetry's conventions for generative AI, which have the status Development: only the
latest are written, whatever `OTEL_SEMCONV_STABILITY_OPT_IN` says, with the version in `SCHEMA_URL`. A new version is a
change of this table.

Sources:
- https://github.com/open-telemetry/semantic-conventions-genai (release 0.1.0: the workflow's name is in
  `gen_ai.agent.name`, what was written to a cache in `gen_ai.usage.cache_write.input_tokens`); metrics are on its page
  about client inference
- https://langfuse.com/integrations/native/opentelemetry#property-mapping
- https://arize-ai.github.io/openinference/spec/attributes/semantic-conventions.html
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai/0.1.0"
SCOPE: Final = "orbiter-console"
"""The name of the instrumentation scope."""

# -- GenAI conventions -------------------------------------------------------------------------------------------------

INVOKE_WORKFLOW: Final = "invoke_workflow"
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
MCP_METHOD: Final = "mcp.method.name"
ERROR_TYPE: Final = "error.type"

# Content: only where it is asked for.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

INFERENCE_DURATION: Final = "gen_ai.client.inference.duration"
USED_TOKENS: Final = {
    "gen_ai.client.inference.usage.input_tokens": INPUT_TOKENS,
    "gen_ai.client.inference.usage.output_tokens": OUTPUT_TOKENS,
    "gen_ai.client.inference.usage.cache_read.input_tokens": CACHE_READ_TOKENS,
    "gen_ai.client.inference.usage.cache_write.input_tokens": CACHE_WRITE_TOKENS,
    "gen_ai.client.inference.usage.reasoning.output_tokens": REASONING_TOKENS,
}
"""Counters of tokens, each with the attribute of a call that it adds up. The last three are parts of the first two."""
TOKENS_OF_A_CALL: Final = {
    "gen_ai.client.inference.operation.input_tokens": INPUT_TOKENS,
    "gen_ai.client.inference.operation.output_tokens": OUTPUT_TOKENS,
}
"""Histograms of tokens, each with the attribute of a call that it takes."""
TOKEN_MODALITY: Final = "gen_ai.token.modality"  # noqa: S105 - of a model
UNKNOWN_MODALITY: Final = "unknown"
"""No provider's reply that the journal keeps says which tokens were text and which an image."""
TOKEN_BOUNDS: Final = tuple(float(4**power) for power in range(14))
"""The bounds of histograms of tokens: 1, 4, 16, … 67,108,864."""
DURATION_BOUNDS_S: Final = tuple(0.01 * 2**power for power in range(14))
"""The bounds of histograms of seconds: 0.01, 0.02, … 81.92."""

# -- ours --------------------------------------------------------------------------------------------------------------

INCIDENT: Final = "incident"
"""The name of a span of ours: a fault, request or question that waits, from its opening to its answer."""
RUN_ID: Final = "orbiter.run.id"
RUN_STATE: Final = "orbiter.run.state"
RUN_LIVES: Final = "orbiter.run.lives"
NODE_PATH: Final = "orbiter.node.path"
NODE_STATE: Final = "orbiter.node.state"
ATTEMPT: Final = "orbiter.attempt"
OUTCOME: Final = "orbiter.outcome"
"""How an attempt ended that has neither a result nor an error of its own: `parked`, `process_died`, `cancelled`."""
COST: Final = "orbiter.cost_usd"
INCIDENT_ID: Final = "orbiter.incident.id"
INCIDENT_STATE: Final = "orbiter.incident.state"
CAUSE: Final = "orbiter.cause"
DECISION: Final = "orbiter.decision"
"""Both an event on an incident's span and the attribute with the option that was chosen."""
ACTOR: Final = "orbiter.actor"
CHANNEL: Final = "orbiter.channel"
REASON: Final = "orbiter.reason"
FORK_OF: Final = "orbiter.fork.of"

PROCESS_DIED: Final = "process_died"
"""Also the `error.type` of an attempt that ended with its process."""

# -- Langfuse ----------------------------------------------------------------------------------------------------------

SESSION: Final = "session.id"
USER: Final = "user.id"
LF_TRACE_NAME: Final = "langfuse.trace.name"
LF_TRACE_INPUT: Final = "langfuse.trace.input"
LF_TRACE_OUTPUT: Final = "langfuse.trace.output"
LF_TYPE: Final = "langfuse.observation.type"
LF_MODEL: Final = "langfuse.observation.model.name"
LF_USAGE: Final = "langfuse.observation.usage_details"
LF_COST: Final = "langfuse.observation.cost_details"
LF_LEVEL: Final = "langfuse.observation.level"
LF_STATUS: Final = "langfuse.observation.status_message"
LF_INPUT: Final = "langfuse.observation.input"
LF_OUTPUT: Final = "langfuse.observation.output"

# -- OpenInference, which Phoenix reads --------------------------------------------------------------------------------

OI_KIND: Final = "openinference.span.kind"
OI_INPUT: Final = "input.value"
OI_INPUT_TYPE: Final = "input.mime_type"
OI_OUTPUT: Final = "output.value"
OI_OUTPUT_TYPE: Final = "output.mime_type"
OI_MODEL: Final = "llm.model_name"
OI_PROVIDER: Final = "llm.provider"
OI_SYSTEM: Final = "llm.system"
OI_PROMPT_TOKENS: Final = "llm.token_count.prompt"
OI_COMPLETION_TOKENS: Final = "llm.token_count.completion"
OI_TOTAL_TOKENS: Final = "llm.token_count.total"
OI_CACHE_READ: Final = "llm.token_count.prompt_details.cache_read"
OI_CACHE_WRITE: Final = "llm.token_count.prompt_details.cache_write"
OI_REASONING: Final = "llm.token_count.completion_details.reasoning"
OI_COST: Final = "llm.cost.total"
OI_TOOL: Final = "tool.name"
OI_AGENT: Final = "agent.name"
OI_NODE: Final = "graph.node.id"
OI_PARENT_NODE: Final = "graph.node.parent_id"
