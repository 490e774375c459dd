"""Rules by type of exception: those of the HTTP libraries, of the vendor SDKs, and of Python itself."""

from __future__ import annotations

from runtime.judgement.rules import Rule
from runtime.record.taxonomy import Cause, Effect, Impact, Origin, Persistence

_HTTP = "httpx, httpx2: exceptions documentation"
_PY = "Python library reference, built-in exceptions"
_S4 = "seed 004"

EXCEPTIONS: tuple[Rule, ...] = (
    # -- what HTTP libraries and SDKs raise before or instead of an answer
    Rule(
        id="net.certificate",
        source="OpenSSL verify errors; Python ssl",
        text=r"\bCERTIFICATE_VERIFY_FAILED\b|\bcertificate verify failed\b|\bself[- ]signed certificate\b"
        r"|\bcertificate has expired\b",
        cause=Cause.NETWORK,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        suggestions=("Install the certificate authority of your proxy, or set SSL_CERT_FILE",),
    ),
    Rule(
        id="net.bad-url",
        source=_HTTP,
        exception=("UnsupportedProtocol", "InvalidURL", "LocalProtocolError"),
        cause=Cause.CONFIG_INVALID,
        effect=Effect.NOT_ATTEMPTED,
        suggestions=("Check the provider's base URL and key for stray characters",),
    ),
    Rule(
        id="net.not-sent",
        source=_HTTP,
        exception=(
            "ConnectError",
            "ConnectionRefusedError",
            "gaierror",
            "ProxyError",
            "EndpointConnectionError",
            "ClientConnectorError",
            "NewConnectionError",
            "NameResolutionError",
        ),
        cause=Cause.NETWORK,
        effect=Effect.NOT_ATTEMPTED,
    ),
    Rule(
        id="net.connect-timeout",
        source=_HTTP,
        exception=("ConnectTimeout", "PoolTimeout", "ConnectTimeoutError"),
        cause=Cause.TIMEOUT,
        effect=Effect.NOT_ATTEMPTED,
    ),
    Rule(
        id="net.timeout",
        source=_HTTP + "; anthropic, openai: APITimeoutError is an APIConnectionError",
        exception=(
            "APITimeoutError",
            "ReadTimeout",
            "WriteTimeout",
            "TimeoutException",
            "ReadTimeoutError",
            "ServerTimeoutError",
            "ModelTimeoutError",
            "DeadlineExceeded",
            "LLMTimeoutError",
        ),
        cause=Cause.TIMEOUT,
    ),
    Rule(
        id="net.broken",
        source=_HTTP + "; facts on both SDKs: raw transport errors inside a stream",
        exception=(
            "RemoteProtocolError",
            "ReadError",
            "WriteError",
            "CloseError",
            "NetworkError",
            "TransportError",
            "APIConnectionError",
            "IncompleteRead",
            "ChunkedEncodingError",
            "ProtocolError",
            "ServerDisconnectedError",
            "ClientPayloadError",
            "ClientOSError",
            "RemoteDisconnected",
            "IncompleteReadError",
            "SSLError",
            "SSLEOFError",
            "StreamClosed",
            "ConnectionClosedError",
        ),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="net.broken-requests",
        source="requests: exceptions",
        exception=("requests.ConnectionError", "requests.exceptions.ConnectionError", "ClientConnectionError"),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="stream.not-events",
        source="measured: HTTP 200 without an event stream; bad JSON or UTF-8 in a chunk",
        exception=("AssertionError", "JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"),
        where=("stream", "first_token", "response"),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="model.unreadable",
        source="measured: a reply that is no JSON comes from a proxy, not from the model",
        exception=("AssertionError", "JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"),
        origin=(Origin.MODEL,),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="sdk.credentials",
        source="botocore, google-auth: exceptions",
        exception=(
            "NoCredentialsError",
            "PartialCredentialsError",
            "CredentialRetrievalError",
            "DefaultCredentialsError",
            "RefreshError",
            "TokenRetrievalError",
            "SSOTokenLoadError",
            "UnauthorizedSSOTokenError",
            "CredentialUnavailableError",
            "ClientAuthenticationError",
        ),
        cause=Cause.AUTH_FAILED,
        effect=Effect.NOT_ATTEMPTED,
    ),
    Rule(
        id="sdk.spend-limit",
        source="anthropic: EnforcedSpendLimitReachedError, ContractSpendLimitReachedError",
        exception=("EnforcedSpendLimitReachedError", "ContractSpendLimitReachedError", "PaymentRequiredError"),
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="sdk.ramp-limit",
        source="anthropic: RampLimitExceededError (usage grew too fast)",
        exception=("RampLimitExceededError",),
        cause=Cause.RATE_LIMITED,
    ),
    Rule(
        id="sdk.overloaded",
        source="anthropic: OverloadedError",
        exception=("OverloadedError", "ServiceUnavailableError"),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="sdk.filtered",
        source="openai: ContentFilterFinishReasonError; langchain, litellm: ContentPolicyViolationError",
        exception=("ContentFilterFinishReasonError", "ContentPolicyViolationError", "BlockedPromptException"),
        cause=Cause.REFUSED,
    ),
    Rule(
        id="sdk.length",
        source="openai: LengthFinishReasonError: structured output cut off at max_tokens",
        exception=("LengthFinishReasonError", "IncompleteOutputError"),
        cause=Cause.OUTPUT_INVALID,
        persistence=Persistence.NEEDS_CHANGE,
    ),
    Rule(
        id="sdk.context",
        source="litellm: ContextWindowExceededError",
        exception=("ContextWindowExceededError", "ContextOverflowError"),
        cause=Cause.CONTEXT_OVERFLOW,
    ),
    Rule(
        # A tool's own bug, more often than not, and the stack is whole again: no reason to end the others' work.
        id="py.too-deep",
        source=_PY,
        exception=("RecursionError",),
        cause=Cause.INTERNAL,
    ),
    Rule(
        id="py.memory",
        source=_PY,
        exception=("MemoryError",),
        cause=Cause.INTERNAL,
        impact=Impact.PROCESS,
    ),
)
"""Tried first: a type is the one thing in a failure that nobody can misspell."""


OPERATING_SYSTEM: tuple[Rule, ...] = (
    *(
        Rule(id=f"sdk.{name.lower()}", source="anthropic, openai: exception classes", exception=(name,), cause=cause)
        for name, cause in (
            ("AuthenticationError", Cause.AUTH_FAILED),
            ("PermissionDeniedError", Cause.PERMISSION_DENIED),
            ("NotFoundError", Cause.NOT_FOUND),
            ("BadRequestError", Cause.BAD_REQUEST),
            ("UnprocessableEntityError", Cause.BAD_REQUEST),
            ("ConflictError", Cause.SERVICE_UNAVAILABLE),
            ("InternalServerError", Cause.SERVICE_UNAVAILABLE),
        )
    ),
    Rule(
        id="stream.ended",
        source="measured: a stream that ends without a stop reason or a word",
        where=("stream", "first_token"),
        text=r"\A\s*\Z",
        status=("none", "2xx"),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="os.permission",
        source="MARSYS case 25: local OS errors are permanent",
        exception=("PermissionError",),
        cause=Cause.PERMISSION_DENIED,
    ),
    Rule(
        id="os.not-found",
        source="MARSYS case 25: local OS errors are permanent",
        exception=("FileNotFoundError", "NotADirectoryError", "IsADirectoryError", "ModuleNotFoundError"),
        cause=Cause.NOT_FOUND,
        persistence=Persistence.PERMANENT,
    ),
    Rule(id="py.timeout", source=_PY, exception=("TimeoutError", "Timeout"), cause=Cause.TIMEOUT),
    Rule(
        id="py.connection",
        source=_PY,
        exception=(
            "ConnectionError",
            "ConnectionResetError",
            "BrokenPipeError",
            "ConnectionAbortedError",
            "EOFError",
            "herror",
        ),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="os.permanent",
        source="MARSYS case 25: local OS errors are permanent",
        exception=("FileExistsError", "OSError"),
        text=r"\[Errno (?:1|2|13|17|20|21|22|28|30|36|40)\]|\bNo space left\b|\bRead-only file system\b",
        cause=Cause.INTERNAL,
        persistence=Persistence.NEEDS_CHANGE,
    ),
    Rule(id="os.io", source="AFK case 20", exception=("OSError", "IOError"), cause=Cause.NETWORK),
    Rule(
        id="class.timeout",
        source="Osprey case 39: any class name containing timeout",
        exception=("*timeout*",),
        cause=Cause.TIMEOUT,
    ),
    Rule(
        id="class.rate-limit",
        source="Osprey case 46: any class name containing ratelimit",
        exception=("*ratelimit*",),
        cause=Cause.RATE_LIMITED,
    ),
    Rule(id="tool.raised", source=_S4 + ': "Tool raised an error"', origin=(Origin.TOOL,), cause=Cause.TOOL_FAILED),
    Rule(
        id="parse.model",
        source="pydantic: validation errors",
        exception=("pydantic_core.ValidationError", "JSONDecodeError"),
        origin=(Origin.PARSER, Origin.AGENT, Origin.MODEL),
        cause=Cause.OUTPUT_INVALID,
        effect=Effect.NONE,
    ),
    Rule(
        id="py.bug",
        source=_PY,
        exception=(
            "AttributeError",
            "NameError",
            "TypeError",
            "ImportError",
            "SyntaxError",
            "NotImplementedError",
            "AssertionError",
            "LookupError",
            "KeyError",
            "IndexError",
            "ArithmeticError",
            "ZeroDivisionError",
            "UnboundLocalError",
        ),
        cause=Cause.INTERNAL,
    ),
)
"""Tried last: builtins that mean something else when a provider's words or status stand beside them."""
