"""Rules by the provider's own code, type or reason, and by HTTP status.

`CODES` are words that mean one thing. `GENERIC_CODE_RULES` are those that providers use for several (Anthropic answers
``invalid_request_error`` for an empty account), so the words of the message are asked before them.
"""

from __future__ import annotations

from runtime.judgement.faults.rules.rule import Rule
from runtime.record.state.fault_taxonomy import Cause, Effect, Persistence

_OPENAI = "OpenAI: error codes guide, recorded errors"
_ANTHROPIC = "Anthropic: errors page, recorded errors"
_GOOGLE = "Google: google.rpc.Code, ErrorReason, Gemini API troubleshooting"
_AWS = "AWS: Bedrock Runtime API errors, common errors"
_MANY = "providers' error pages"
_S3 = "seed 003: classifications of model errors"

GOOGLE = ("gemini", "google", "vertex")
PER_DAY = (
    r"(?<![a-z])per[\s_-]?(?:day|month)(?![a-z])|PerDay|\bdaily\b|\bmonthly\b|/\s?(?:day|month)\b|\b(?:TPD|RPD)\b|\bByDay\b"
    r"|per 24 ?h(?:ours)?\b|per 86400s"
)
_SAYS_WHEN = r"\b(?:try again|retry|wait)\b[^.\n]{0,20}?\d"

CODE_RULES: tuple[Rule, ...] = (
    Rule(
        id="rate.one-request-too-large",
        source="OpenAI and Groq: one request over the limit per minute; no waiting heals it (gh:Aider-AI/aider#1880)",
        text=r"\bRequest too large\b.{0,300}\b(?:tokens per|TPM|ITPM)\b",
        cause=Cause.RATE_LIMITED,
        persistence=Persistence.NEEDS_CHANGE,
        suggestions=("Send fewer tokens in one request", "Ask the provider for a higher limit"),
    ),
    Rule(
        id="openai.verify",
        source="OpenAI: organization verification",
        text=r"\borgani[sz]ation must be verified\b|\bmust be verified to\b",
        cause=Cause.PERMISSION_DENIED,
    ),
    Rule(
        id="google.no-quota",
        source="Gemini: free tier without quota for the model says limit: 0",
        provider=GOOGLE,
        status=(429,),
        text=r"\blimit:\s?0\b",
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="google.no-capacity",
        source=_GOOGLE,
        provider=GOOGLE,
        status=(429, 503),
        text=r"\bno capacity\b|\bout of capacity\b|\bcapacity (?:available|exhausted)\b|\boverloaded\b"
             r"|\bhigh demand\b",
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="google.credits",
        source=_GOOGLE,
        provider=GOOGLE,
        text=r"\bprepay\w* credits?\b|\bcredits? (?:are|is|have been) (?:depleted|exhausted)\b|\bspend(?:ing)? cap\b",
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="google.per-day",
        source=_GOOGLE + "; quotaId PerDay: its retryDelay does not help",
        provider=GOOGLE,
        status=(429, 403),
        text=PER_DAY,
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="google.per-minute",
        source=_GOOGLE + '; "exceeded your current quota" heals in retryDelay',
        provider=GOOGLE,
        status=(429,),
        cause=Cause.RATE_LIMITED,
    ),
    Rule(
        id="code.quota",
        source=_OPENAI + "; " + _MANY,
        code=(
            "insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded", "spend_limit_exceeded", "spend_limit_reached", "spending_limit_reached",
            "billing_hard_limit_reached", "billing_soft_limit_reached", "billing_limit_reached", "billing_not_active",
            "billing_error", "billing_disabled", "quota_exceeded", "quota_exhausted", "daily_limit_exceeded",
            "monthly_limit_exceeded", "usage_limit_reached", "usage_limit_exceeded", "usage_not_included",
            "insufficient_credits", "insufficient_balance", "insufficient_funds", "insufficient_user_quota",
            "payment_required", "out_of_credits", "credits_exhausted", "no_credits", "exceeded_current_quota_error",
            "AccountOverdueError", "Arrearage", "account_overdue", "budget_exceeded", "key_limit_exceeded",
            "free_tier_exhausted", "AllocationQuota.FreeTierOnly", "trial_expired", "subscription_required",
            "subscription_expired", "PrepaidBillOverdue", "PostpaidBillOverdue", "ServiceQuotaExceededException",
            "personal-team-blocked:spending-limit", "SetLimitExceeded",
        ),
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="code.auth",
        source=_MANY,
        code=(
            "invalid_api_key", "incorrect_api_key", "wrong_api_key", "missing_api_key", "no_api_key",
            "api_key_invalid",
            "api_key_expired", "api_key_not_found", "expired_api_key", "authentication_error", "authentication_failed",
            "authentication_required", "invalid_authentication", "invalid_authentication_error", "AuthenticationError",
            "unauthenticated", "credentials_missing", "invalid_credentials", "invalid_token", "token_expired",
            "token_invalidated", "token_revoked", "invalid_api_token", "access_token_expired",
            "access_token_type_unsupported", "account_session_invalid", "account_deactivated", "deactivated_workspace",
            "invalid_organization", "mismatched_organization", "mismatched_project", "no_organization",
            "UnrecognizedClientException", "UnrecognizedClient", "ExpiredTokenException", "ExpiredToken",
            "InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature",
            "IncompleteSignatureException",
            "MissingAuthenticationToken", "MissingAuthenticationTokenException", "InvalidClientTokenId",
            "InvalidAccessKeyId", "NotAuthenticated", "invalid_x_api_key", "invalid_grant", "RequestTimeTooSkewed",
            "RequestExpired",
        ),
        cause=Cause.AUTH_FAILED,
    ),
    Rule(
        id="code.permission",
        source=_MANY,
        code=(
            "unsupported_country_region_territory", "request_forbidden", "missing_scope", "insufficient_permissions",
            "service_disabled", "api_key_service_blocked", "api_key_http_referrer_blocked",
            "api_key_ip_address_blocked", "consumer_suspended", "ip_not_authorized", "organization_not_verified",
            "organization_restricted", "model_access_denied", "AccessDenied.Unpurchased", "ModelNotOpen",
            "AuthorizationFailed", "AuthenticationTypeDisabled", "UnauthorizedOperation", "OptInRequired",
            "location_not_supported", "blocked_api_access", "key_model_access_denied", "Model.AccessDenied",
        ),
        cause=Cause.PERMISSION_DENIED,
    ),
    Rule(
        id="orbiter.model-config",
        source="orbiter.models: what is missing before a call can be made",
        code=(
            "unknown_provider", "missing_model", "missing_base_url", "configuration_error", "invalid_script",
            "script_empty_turn",
        ),
        cause=Cause.CONFIG_INVALID,
        effect=Effect.NOT_ATTEMPTED,
    ),
    Rule(
        id="orbiter.bad-response",
        source="orbiter.models: an answer with a good status that is no reply of the API",
        code=("bad_response",),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="code.model",
        source=_MANY,
        code=(
            "model_not_found", "model_not_exist", "model_does_not_exist", "model_not_available",
            "model_unavailable_error",
            "invalid_model", "invalid_model_id", "unknown_model", "unsupported_model", "no_such_model",
            "ModelNotFound",
            "DeploymentNotFound", "deployment_not_found", "model_decommissioned", "model_deprecated", "model_retired",
            "model_terminated", "InvalidEndpointOrModel.NotFound", "model_not_supported",
        ),
        cause=Cause.MODEL_UNKNOWN,
    ),
    Rule(
        id="code.thing-not-found",
        source=_OPENAI,
        code=(
            "previous_response_not_found", "response_not_found", "file_not_found", "item_not_found",
            "thread_not_found",
            "assistant_not_found", "vector_store_not_found", "conversation_not_found", "container_not_found",
        ),
        cause=Cause.NOT_FOUND,
    ),
    Rule(
        id="code.context-messages",
        source="OpenAI, litellm: the messages themselves over the maximum string length",
        code=("string_above_max_length",),
        text=(
            r"^Invalid '(?:input|messages|prompt|contents)(?:\[\d+\])?"
            r"(?:\.(?:content|text|output|arguments)(?:\[\d+\](?:\.text)?)?)?'"
        ),
        cause=Cause.CONTEXT_OVERFLOW,
    ),
    Rule(
        id="code.context",
        source=_MANY,
        code=(
            "context_length_exceeded", "context_length", "context_window_exceeded", "model_context_window_exceeded",
            "exceed_context_size_error", "context_overflow", "context_too_large", "model_max_prompt_tokens_exceeded",
            "max_context_length_exceeded", "prompt_too_long", "input_too_long", "tokens_limit_reached",
            "max_prompt_tokens_exceeded",
        ),
        cause=Cause.CONTEXT_OVERFLOW,
    ),
    Rule(
        id="context.no-body",
        source="Cerebras, Mistral: 400 and 413 without a body mean context overflow (pi-mono, overflow detection)",
        provider=("cerebras", "mistral"),
        status=(400, 413),
        text=r"\A\s*\Z|\(no body\)",
        cause=Cause.CONTEXT_OVERFLOW,
    ),
    Rule(
        id="code.tool-use-failed",
        source="Groq: the model wrote a tool call or JSON that does not parse; a second try often works",
        code=("tool_use_failed", "json_validate_failed", "output_parse_failed"),
        cause=Cause.BAD_REQUEST,
        persistence=Persistence.TRANSIENT,
    ),
    Rule(
        id="code.malformed-call",
        source=_GOOGLE + ": finishReason",
        code=("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"),
        cause=Cause.OUTPUT_INVALID,
    ),
    Rule(
        id="code.refused",
        source=_MANY,
        code=(
            "content_policy_violation", "content_policy", "content_filter", "content_filtered", "content_filter_error",
            "content_blocked", "moderation_blocked", "moderation_error", "content_moderation_failed",
            "ResponsibleAIPolicyViolation", "DataInspectionFailed", "data_inspection_failed", "SAFETY",
            "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "IMAGE_SAFETY", "SPII", "sensitive_words_detected",
            "InputTextSensitiveContentDetected", "OutputTextSensitiveContentDetected",
            "InputImageSensitiveContentDetected", "SensitiveContentDetected", "policy_violation",
            "guardrail_intervened",
            "refusal", "safety_check_failed", "cyber_policy_violation", "bio_policy_violation",
            "image_content_policy_violation",
        ),
        cause=Cause.REFUSED,
    ),
    Rule(
        id="code.overloaded",
        source=_MANY,
        code=(
            "overloaded_error", "overloaded", "server_overloaded", "server_is_overloaded", "engine_overloaded",
            "engine_overloaded_error", "model_overloaded", "slow_down", "service_tier_capacity_exceeded",
            "capacity_exceeded", "no_capacity", "model_capacity_exhausted", "insufficient_capacity", "server_busy",
            "ModelNotReadyException", "ModelErrorException", "ModelStreamErrorException",
            "ServiceUnavailableException",
            "ServerOverloaded", "3505",
        ),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="code.timeout",
        source=_MANY,
        code=(
            "timeout_error", "request_timeout", "gateway_timeout", "DEADLINE_EXCEEDED", "ModelTimeoutException",
            "RequestTimeout", "RequestTimeoutException", "upstream_timeout", "inference_timeout",
        ),
        cause=Cause.TIMEOUT,
    ),
    Rule(
        id="code.rate-token-quota",
        source="watsonx: token_quota_reached heals within the minute",
        code=("token_quota_reached",),
        unless=PER_DAY,
        cause=Cause.RATE_LIMITED,
    ),
    Rule(
        id="code.rate-vague",
        source="seed 003: rate_limit with an explicit word",
        code=("rate_limit",),
        unless=PER_DAY,
        cause=Cause.RATE_LIMITED,
    ),
    Rule(
        id="code.empty-finished",
        source=_S3 + ": the model ended its turn with nothing; the same prompt will do so again",
        code=("empty_completion",),
        text=r"\bend_turn\b|\bfinish_reason\W{1,3}stop\b",
        cause=Cause.EMPTY_COMPLETION,
        persistence=Persistence.NEEDS_CHANGE,
    ),
    Rule(id="code.empty", source=_S3, code=("empty_completion",), cause=Cause.EMPTY_COMPLETION),
    Rule(
        id="code.truncated",
        source="measured: a stream that ends without a stop reason raises nothing in either SDK",
        code=("truncated", "stream_truncated", "incomplete_stream", "network_error", "connection_error"),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="code.not-for-retry",
        source=_OPENAI,
        code=(
            "unsupported_parameter", "unsupported_value", "invalid_value", "invalid_type",
            "missing_required_parameter",
            "unknown_parameter", "invalid_function_parameters", "string_above_max_length", "string_below_min_length",
            "array_above_max_length", "integer_above_max_value", "integer_below_min_value", "decimal_above_max_value",
            "decimal_below_min_value", "invalid_encrypted_content", "unsupported_file", "invalid_image_url",
            "invalid_image_format", "image_parse_error", "invalid_base64", "invalid_json_schema",
            "invalid_request_message_order", "extra_forbidden", "OperationNotSupported",
            "not_supported_error", "unsupported_content_type", "deprecated_api", "parameter_missing",
        ),
        cause=Cause.BAD_REQUEST,
    ),
    *(
        Rule(id=f"{name}.{code}", source=source, provider=provider, code=(code,), cause=cause)
        for name, source, provider, table in (
            (
                "minimax",
                "MiniMax: base_resp.status_code",
                ("minimax",),
                {
                    "1000": Cause.SERVICE_UNAVAILABLE, "1001": Cause.TIMEOUT, "1002": Cause.RATE_LIMITED,
                    "1004": Cause.AUTH_FAILED, "1008": Cause.QUOTA_EXHAUSTED, "1013": Cause.SERVICE_UNAVAILABLE,
                    "1024": Cause.SERVICE_UNAVAILABLE, "1026": Cause.REFUSED, "1027": Cause.REFUSED,
                    "1033": Cause.SERVICE_UNAVAILABLE, "1039": Cause.RATE_LIMITED, "1041": Cause.RATE_LIMITED,
                    "2049": Cause.AUTH_FAILED, "2056": Cause.QUOTA_EXHAUSTED,
                },
            ),
            (
                "zhipu",
                "Zhipu (Z.ai): error codes",
                ("zhipu", "zai", "z.ai", "glm", "bigmodel"),
                {
                    "1000": Cause.AUTH_FAILED, "1001": Cause.AUTH_FAILED, "1002": Cause.AUTH_FAILED,
                    "1003": Cause.AUTH_FAILED, "1004": Cause.AUTH_FAILED, "1110": Cause.PERMISSION_DENIED,
                    "1112": Cause.PERMISSION_DENIED, "1113": Cause.QUOTA_EXHAUSTED, "1211": Cause.MODEL_UNKNOWN,
                    "1220": Cause.PERMISSION_DENIED, "1230": Cause.SERVICE_UNAVAILABLE, "1234": Cause.NETWORK,
                    "1261": Cause.CONTEXT_OVERFLOW, "1301": Cause.REFUSED, "1302": Cause.RATE_LIMITED,
                    "1303": Cause.RATE_LIMITED, "1304": Cause.QUOTA_EXHAUSTED, "1305": Cause.RATE_LIMITED,
                    "1308": Cause.QUOTA_EXHAUSTED, "1309": Cause.QUOTA_EXHAUSTED, "1310": Cause.QUOTA_EXHAUSTED,
                },
            ),
        )
        for code, cause in table.items()
    ),
)  # fmt: skip


_MODEL_WORDS = r"\bmodels?\b|\bdeployment\b"

GENERIC_CODE_RULES: tuple[Rule, ...] = (
    Rule(
        id="code.rate",
        source=_MANY,
        code=(
            "rate_limit_exceeded", "rate_limit_error", "rate_limited", "rate_limit_reached", "RateLimitReached",
            "rate_limit_reached_error", "RateLimitExceeded", "request_limit_exceeded", "too_many_requests",
            "too_many_requests_error", "TooManyRequestsException", "ThrottlingException", "Throttling",
            "ThrottledException", "Throttling.RateQuota", "Throttling.AllocationQuota", "Throttling.User",
            "RequestLimitExceeded", "RESOURCE_EXHAUSTED", "ProvisionedThroughputExceededException",
            "concurrency_limit_reached", "slowdown", "RateLimitExceeded.EndpointRPMExceeded",
            "RateLimitExceeded.EndpointTPMExceeded", "tokens_exceeded_error", "requests_per_minute_limit",
        ),
        cause=Cause.RATE_LIMITED,
    ),
    Rule(
        id="code.permission-vague",
        source=_MANY,
        code=(
            "permission_error", "permission_denied", "permission_denied_error", "PermissionDenied", "forbidden",
            "access_denied", "AccessDenied", "AccessDeniedException", "not_authorized", "NotAuthorized",
        ),
        cause=Cause.PERMISSION_DENIED,
    ),
    Rule(
        id="code.auth-vague",
        source=_MANY,
        code=("unauthorized", "Unauthorized", "unauthorized_error"),
        status=(400, 401, 403, "none", "2xx"),
        cause=Cause.AUTH_FAILED,
    ),
    Rule(
        id="code.not-found-model",
        source=_MANY,
        code=(
            "not_found_error", "not_found", "NotFoundError", "ResourceNotFoundException", "resource_not_found",
            "resource_not_found_error", "ResourceNotFound", "RESOURCE_DOES_NOT_EXIST",
        ),
        text=_MODEL_WORDS,
        cause=Cause.MODEL_UNKNOWN,
    ),
    Rule(
        id="code.not-found",
        source=_MANY,
        code=(
            "not_found_error", "not_found", "NotFoundError", "ResourceNotFoundException", "resource_not_found",
            "resource_not_found_error", "ResourceNotFound", "RESOURCE_DOES_NOT_EXIST",
        ),
        cause=Cause.NOT_FOUND,
    ),
    Rule(
        id="code.payload",
        source=_ANTHROPIC + "; " + _S3,
        code=("request_too_large", "payload_too_large", "request_entity_too_large", "content_too_large"),
        cause=Cause.PAYLOAD_TOO_LARGE,
    ),
    Rule(
        id="code.bad-request",
        source=_MANY,
        code=(
            "invalid_request_error", "invalid_request", "invalid_argument", "invalid_parameter", "InvalidParameter",
            "bad_request", "BadRequest", "BadRequestError", "ValidationException", "failed_precondition",
            "OUT_OF_RANGE",
            "unprocessable_entity", "validation_error", "invalid_prompt", "UNIMPLEMENTED",
        ),
        status=(400, 405, 406, 411, 412, 415, 416, 422, 426, 428, 431, "none", "2xx"),
        cause=Cause.BAD_REQUEST,
    ),
    Rule(
        id="code.server",
        source=_MANY,
        code=(
            "api_error", "server_error", "internal_server_error", "InternalServerError", "InternalServerException",
            "internal_error", "INTERNAL", "InternalFailure", "UNAVAILABLE", "unavailable_error", "service_unavailable",
            "ServiceUnavailable", "bad_gateway", "service_error", "upstream_error", "provider_error", "ABORTED",
            "bad_response",  # ours: a good status, but a page or a broken piece instead of a reply
        ),
        status=("5xx", "2xx", "none", 408, 409, 424, 429),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(id="code.timeout-vague", source=_S3, code=("timeout",), cause=Cause.TIMEOUT),
)  # fmt: skip


STATUS_RULES: tuple[Rule, ...] = (
    Rule(id="status.401", source="RFC 9110", status=(401,), cause=Cause.AUTH_FAILED),
    Rule(id="status.403", source="RFC 9110", status=(403,), cause=Cause.PERMISSION_DENIED),
    Rule(
        id="status.404-model",
        source="RFC 9110",
        status=(404, 410),
        text=_MODEL_WORDS,
        cause=Cause.MODEL_UNKNOWN,
    ),
    Rule(id="status.404", source="RFC 9110", status=(404, 410), cause=Cause.NOT_FOUND),
    Rule(
        id="status.407",
        source="RFC 9110",
        status=(407,),
        cause=Cause.AUTH_FAILED,
        effect=Effect.NOT_ATTEMPTED,
        suggestions=("Give the proxy's user and password in HTTPS_PROXY",),
    ),
    Rule(id="status.408", source="RFC 9110; both SDKs retry it", status=(408,), cause=Cause.TIMEOUT),
    Rule(
        id="status.409",
        source="Anthropic and OpenAI SDKs retry it as a lock time-out",
        status=(409, 423, 425),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(id="status.413", source="RFC 9110; seed 003", status=(413, 414), cause=Cause.PAYLOAD_TOO_LARGE),
    Rule(id="status.424", source=_AWS + ": ModelErrorException", status=(424,), cause=Cause.SERVICE_UNAVAILABLE),
    Rule(id="status.429", source="RFC 6585", status=(429,), cause=Cause.RATE_LIMITED),
    Rule(id="status.451", source="RFC 7725", status=(451,), cause=Cause.PERMISSION_DENIED),
    Rule(
        id="status.499",
        source="nginx 444 and 499, AWS load balancer 460: the connection was closed without an answer",
        status=(444, 460, 499),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="status.login",
        source="RFC 6585: 511 asks to log in to the network; AWS load balancer 561: its identity provider refused",
        status=(511, 561),
        cause=Cause.AUTH_FAILED,
    ),
    Rule(id="status.501", source="RFC 9110", status=(501, 505), cause=Cause.BAD_REQUEST),
    Rule(id="status.524", source="Cloudflare: 522 and 524 are its time-outs", status=(522, 524), cause=Cause.TIMEOUT),
    Rule(id="status.5xx", source="RFC 9110; Anthropic 529", status=("5xx",), cause=Cause.SERVICE_UNAVAILABLE),
    Rule(id="status.4xx", source="RFC 9110", status=("4xx",), cause=Cause.BAD_REQUEST),
    Rule(
        id="status.3xx",
        source="RFC 9110: an API that redirects is at another address",
        status=("3xx",),
        cause=Cause.CONFIG_INVALID,
        persistence=Persistence.NEEDS_CHANGE,
        suggestions=("Check the provider's base URL",),
    ),
)
SAYS_WHEN = _SAYS_WHEN
"""The message names the time to come back: then a limit per day is a matter of waiting."""
