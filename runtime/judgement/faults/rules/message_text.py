"""Rules by the words of an error's message, for providers whose codes say little.

Every pattern is anchored to a phrase that stands for one thing; none looks for bare numbers ("took 4290 ms") or for
two loose words ("token" and "invalid"). Order matters: what looks like something else stands before it.
"""

from __future__ import annotations

from runtime.judgement.faults.rules.codes import PER_DAY, SAYS_WHEN
from runtime.judgement.faults.rules.rule import Rule
from runtime.record.state.fault_taxonomy import Cause, Persistence

_RATE = (
    r"\brate[\s_-]?limit|\btoo many requests\b|\b(?:tokens?|requests?) per (?:min(?:ute)?|sec(?:ond)?|hour)\b"
    r"|\b[TRIO]{0,2}[TR]P[MS]\b|\bthrottl(?:ed|ing)\b"
)
_NOT_CONTEXT = _RATE + r"|\bplease wait\b|\bper (?:day|month)\b"

TEXT_RULES: tuple[Rule, ...] = (
    Rule(
        id="words.payment-required",
        source="RFC 9110: 402 never means anything else; OpenRouter words it as a token limit",
        status=(402,),
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="words.output-limit",
        source="Anthropic, OpenAI, Bedrock, Gemini: the wanted output is too long, not the input",
        text=(
            r"\bmax_tokens: \d+ > \d+|\bmaximum tokens you requested exceeds the model limit"
            r"|\bmaximum (?:allowed )?number of (?:output|completion) tokens\b|\bat most \d+ (?:completion"
            r"|output) tokens\b"
            r"|\b(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens)\b['\"`]?"
            r"(?: value of \d+)? (?:is too large|must be|should be|cannot be|exceeds the maximum"
            r"|but the supported range)"
            r"|^Invalid (?:value for )?['\"`]?(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens)\b"
            r"|\bmax_tokens or model output limit was reached"
        ),
        unless=r"\btokens \+|\bcontext (?:length|limit|window)\b",
        cause=Cause.BAD_REQUEST,
        suggestions=("Lower max_tokens",),
    ),
    Rule(
        id="words.long-context-paid",
        source="Anthropic: long context requests need extra usage",
        text=r"\bextra usage is required\b",
        cause=Cause.QUOTA_EXHAUSTED,
        suggestions=("Enable extra usage in the provider's console", "Shorten the context"),
    ),
    Rule(
        id="words.long-context-plan",
        source="Anthropic: long context beta",
        text=r"\blong context beta is not (?:yet )?available\b",
        cause=Cause.PERMISSION_DENIED,
    ),
    Rule(
        id="words.context",
        source="pages and recorded errors of 24 providers, litellm, vLLM, llama.cpp, LM Studio",
        text=(
            r"\bprompt (?:is )?too long\b|\binput (?:is |text is |token (?:length|count) (?:is )?)?too (?:long|large)\b"
            r"|\bprompt\b[^.\n]{0,40}\bis too long\b|\btokens? in the (?:prompt|input"
            r"|messages)\b[^.\n]{0,40}\bexceeds?\b"
            r"|\b(?:max(?:imum)?|model'?s?) (?:prompt|context|sequence|model|input|total) (?:length|len|window"
            r"|size|limit)\b"
            r"|\b(?:exceed\w*|larger than|longer than|greater than|overflow\w*|surpass\w*|too (?:large|long"
            r"|big) for)\b[^.\n]{0,80}"
            r"\b(?:context (?:window|length|size|limit)|available context|model token limit|token limit|max(?:imum)?"
            r"(?: number of)?(?: input)? tokens?)\b"
            r"|\bcontext (?:window|length|size|limit)\b[^.\n]{0,60}\b(?:exceed\w*|overflow\w*|too (?:long|large"
            r"|small)|reached)\b"
            r"|\btoo many (?:input )?tokens\b|\btokens? limit exceeded\b"
            r"|\binput token count\b[^.\n]{0,60}\b(?:exceeds|but model only supports)\b|\binput tokens exceed\b"
            r"|\breduce the (?:length|size) of (?:the |your )?(?:messages|prompt|input|request)\b"
            r"|\breduce (?:the|your) (?:prompt|input|context)\b"
            r"|\btokens? \+ `?max_(?:new_)?tokens`? must be\b|\binput length and `?max_tokens`? exceed\b"
            r"|\bprompt token count of \d+ exceeds\b|\bcurrent length is \d+ while limit is \d+"
            r"|\brange of input length should be\b|\binitial prompt is greater than\b|\btokens to keep from\b"
            r"|\bload the model with a larger context\b"
            r"|\bdecoder prompt \(length \d+\)|\bmax size: \d+ tokens\b|\bmessages resulted in \d+ tokens\b"
            r"|\b(?:input|prompt|messages?|conversation)\b[^.\n]{0,60}\b(?:exceeds?|exceeded|longer than"
            r"|over)\b[^.\n]{0,60}\btokens?\b"
            r"|\btotal number of tokens\b[^.\n]{0,60}\b(?:exceed|larger|greater)"
            r"|\btokens? in (?:the )?request\b[^.\n]{0,40}\bmore than\b|\bcontext shift is disabled\b"
            r"|\bprompt: length: 1\.\.|\bprompt tokens\b[^.\n]{0,40}\bexceed|\btext length should not exceed\b"
            r"|\blength limit exceeded\b"
            r"|\bexpected maxLength: \d+, actual: \d+|\bran out of context\b|\bKV cache (?:is )?(?:full|too small)\b"
            r"|[Pp]rompt\s?超长|上下文.{0,8}超|输入.{0,8}(?:过长|超长|超过)"
        ),
        unless=_NOT_CONTEXT,
        cause=Cause.CONTEXT_OVERFLOW,
    ),
    Rule(
        id="words.payload",
        source="seed 003: payload hints; Gemini: request payload size",
        text=(
            r"\brequest_too_large\b|\bpayload (?:is )?too large\b|\brequest (?:body |entity )?(?:is )?too large\b"
            r"|\brequest exceeds the maximum\b|\b(?:request )?payload size exceeds\b|\bcontent too large\b"
        ),
        unless=_RATE + r"|\bpeak load\b|\bhigh demand\b",
        status=("4xx", "5xx", "none"),
        cause=Cause.PAYLOAD_TOO_LARGE,
    ),
    Rule(
        id="words.spend",
        source="Anthropic, DeepSeek, Hugging Face, OpenAI, OpenRouter, xAI: recorded errors",
        text=(
            r"\binsufficient[ _-](?:credits?|balance|funds|quota|account balance)\b|\b(?:credit|account"
            r"|prepaid) balance\b"
            r"[^.\n]{0,30}\b(?:too low|exhausted|insufficient|negative|empty|depleted|0)\b"
            r"|\b(?:run|ran|running) out of (?:\w+ )?(?:credits?|balance|funds|quota)\b|\bout of credits\b"
            r"|\bused all (?:\w+ ){0,3}credits\b"
            r"|\b(?:doesn't|does not|don't|do not) have (?:any|enough|sufficient) (?:\w+ )?(?:credits?|funds"
            r"|balance|quota)\b"
            r"|\bno (?:remaining )?credits (?:left|remaining|available)\b|\bnot enough (?:credits?|funds|balance)\b"
            r"|\bcredits? (?:limit|balance)? ?(?:are|is|has been|have been|was)? ?(?:depleted|exhausted|used up"
            r"|exceeded)\b"
            r"|\b(?:purchase|buy|add|requires?|upgrade or purchase) (?:more |additional )?credits\b"
            r"|\bincluded credits\b"
            r"|\bexceeded your (?:current |monthly |free |plan )?quota\b|\bquota (?:has been )?(?:exhausted"
            r"|depleted|used up)\b"
            r"|\bspend(?:ing)?[ -](?:limit|cap)\b|\busage limits?\b[^.\n]{0,60}\b(?:reached|exceeded|hit)\b"
            r"|\b(?:reached|exceeded|hit) (?:your|the) (?:\w+ ){0,3}(?:usage|spending|budget|credit"
            r"|billing) (?:limits?|cap)\b"
            r"|\bregain access on\b|\bbilling (?:hard limit|account|cycle|issue|or payment|is not active"
            r"|not active|to be enabled|details are)\b"
            r"|\b(?:enable|requires?|activate|set up) billing\b|\b(?:no (?:valid )?payment method"
            r"|payment (?:required|information|failed|overdue|declined))\b"
            r"|\bpast due\b|\boverdue (?:payment|balance|bill)\b|\bin arrears\b|\baccount is overdue\b"
            r"|\bsubscription (?:has |is )?(?:expired|required|not active|inactive|ended)\b"
            r"|\b(?:key|total|monthly|weekly) limit exceeded\b|\bbudget (?:has been |is )?exceeded\b"
            r"|\bout of (?:\w+ ){0,2}quota\b|\bquota will be replenished\b|\bset inference limit\b"
            r"|\bout of (?:extra )?usage\b|\bused up (?:your|all|the)\b|\bover budget\b"
            r"|\bexceeded (?:\w+ )?budget\b"
            r"|\b(?:free )?trial (?:has |is )?(?:expired|ended|over)\b|\b(?:recharge|top up) your\b"
            r"|余额不足|欠费|充值|额度(?:不足|已用完|已耗尽)"
        ),
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="words.per-day",
        source="Bedrock, OpenRouter, Cohere, Gemini: a limit per day or month is not waited out",
        text=PER_DAY,
        unless=SAYS_WHEN,
        status=(429, 403, 400, 200, "none"),
        cause=Cause.QUOTA_EXHAUSTED,
        code=(
            "429",
            "ThrottlingException",
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limited",
            "RESOURCE_EXHAUSTED",
            "too_many_requests",
            "tokens",
            "requests",
            "RateLimitReached",
            "TooManyRequestsException",
        ),
    ),
    Rule(
        id="words.per-day-limit",
        source="OpenRouter, Cohere, Groq: a limit per day or month is not waited out",
        text=(
            rf"\b(?:rate.?limit\w*|quota|limit(?:ed)?|too many (?:tokens|requests)"
            rf"|exceed(?:s|ed)?)\b[^\n]{{0,200}}(?:{PER_DAY})"
            rf"|(?:{PER_DAY})[^\n]{{0,80}}\b(?:limit|quota)\b[^\n]{{0,40}}\b(?:reached|exceeded|hit)\b"
        ),
        unless=SAYS_WHEN,
        status=(429, 403, 200, "none"),
        cause=Cause.QUOTA_EXHAUSTED,
    ),
    Rule(
        id="words.refused",
        source="OpenAI, Anthropic, Azure, OpenRouter, Qwen: recorded errors",
        text=(
            r"\bcontent (?:filter(?:ing|ed)?(?: policy)?|management policy|policy"
            r"|safety)\b(?![^.\n]{0,20}\bdata policy\b)"
            r"|\b(?:prompt|input|request|content|message|output|response|image)s?\b[^.\n]{0,60}\b(?:was|were|been"
            r"|is) (?:flagged|blocked|filtered)\b"
            r"|\bflagged (?:as|for|by)\b|\busage polic(?:y|ies)\b|\bsafety (?:system|reasons|filters?|checks?"
            r"|settings)\b"
            r"|\brequires moderation\b|\bmoderation\b[^.\n]{0,40}\b(?:flagged|blocked|failed|rejected)\b"
            r"|\bcontent exists risk\b|\bconsidered high risk\b|\b(?:contains|with) blocked content\b"
            r"|\binappropriate content\b|\bprohibited content\b"
            r"|\bsensitive (?:words?|content|information)\b"
            r"|\bblocked by (?:safety|content|our|the) |\bviolat\w+ [^.\n]{0,60}\b(?:polic(?:y|ies)|guidelines"
            r"|terms)\b"
            r"|敏感(?:内容|词|信息)|不安全或敏感|违规内容"
        ),
        status=(200, 400, 403, 422, 424, 451, "none", 498, 500),
        cause=Cause.REFUSED,
    ),
    Rule(
        id="words.auth",
        source="providers' error pages, recorded errors; vendor SDKs without a key",
        text=(
            r"\b(?:incorrect|invalid|wrong|missing|bad|expired|revoked|no) (?:\w+ )?(?:x-)?api[ _-]?(?:key|token)\b"
            r"|\b(?:incorrect|invalid|wrong) authentication token\b|\binvalid private key\b"
            r"|\bno token provided\b|\bauthorization denied\b"
            r"|\bvalid (?:user |access |api )?token is required\b|\bapi key doesn't match\b"
            r"|\b(?:x-)?api[ _-]?(?:key|token)s?\b(?: [^\s.;]+){0,3}? (?:is |was |are |has |header is "
            r"|has been )?(?:not valid|invalid|incorrect|expired"
            r"|missing|not found|required|not provided|revoked|disabled|reported as leaked|deactivated|blocked"
            r"|suspended"
            r"|not supported by this API)\b"
            r"|\bapi_key client option must be set\b|\bpass a valid api key\b|\b(?:provide|specify|set) (?:an"
            r"|your|a valid) api[ _-]?key\b"
            r"|\b(?:unable|failed) to (?:locate|load|find) credentials\b|\bcould not (?:resolve|determine|find"
            r"|load) (?:\w+ )?(?:authentication|credentials)\b"
            r"|\bcredentials (?:were|was) not found\b|\bno (?:\w+ )?auth(?:entication)? credentials\b"
            r"|\binvalid (?:\w+ )?credentials\b"
            r"|\b(?:security|access|oauth|bearer|auth|authentication|session|refresh|id"
            r"|user) token\b[^.\n]{0,40}\b(?:is |has |was |has been )"
            r"(?:invalid|expired|not valid|revoked|malformed)\b|\binvalid (?:bearer|authentication|access|auth"
            r"|oauth) (?:token|header)\b"
            r"|\bauthentication (?:failed|fails|required|error|method not)\b|\bfailed to authenticate\b"
            r"|\bnot authenticated\b"
            r"|\bunregistered callers\b|\binvalid x-api-key\b|\b(?:invalid|missing) subscription key\b"
            r"|\binvalid username or password\b"
            r"|\bthe token seems invalid\b|\bonly authorized for use with\b|\binvalid authorization\b"
            r"|\bmissing (?:bearer|authorization|authentication|auth|credentials)\b|\byou didn't provide an api key\b"
            r"|\bunauthorized\b(?=\W*$)"
        ),
        status=(400, 401, 403, 407, 498, "none", 500),
        cause=Cause.AUTH_FAILED,
    ),
    Rule(
        id="words.data-policy",
        source="OpenRouter: 404 that is a privacy setting of the account",
        text=r"\b(?:matching|match) your (?:data policy|guardrail|privacy)",
        cause=Cause.PERMISSION_DENIED,
        suggestions=("Change the privacy settings of your account at the provider",),
    ),
    Rule(
        id="words.feature-unsupported",
        source="Bedrock, Ollama, OpenRouter: the model is there, what was asked of it is not",
        text=(
            r"\bon-demand throughput isn't supported\b|\bdoes(?:n't| not) support (?:\w+ ){0,3}(?:tools?"
            r"|functions?|images?|vision|streaming"
            r"|parameters?|system|json|thinking|reasoning|temperature|audio|video|file|input|prefill|message|this)\b"
            r"|\bno endpoints found that (?:support|can handle)\b"
        ),
        cause=Cause.BAD_REQUEST,
    ),
    Rule(
        id="words.model",
        source="providers' error pages, recorded errors",
        text=(
            r"^model: \S+\s*$|\b(?:model|deployment)\b[^\n]{0,200}?\b(?:does not exist|doesn't exist|do not exist"
            r"|not found|not exist|is not a valid"
            r"|has been (?:deprecated|decommissioned|retired|shut ?down|removed|sunset)|is (?:deprecated"
            r"|decommissioned|retired|no longer available)"
            r"|reached (?:the|its) end of (?:its )?life|not (?:currently )?deployed)\b"
            r"|\b(?:unknown|invalid|no such|unsupported|unrecognized) model\b(?! (?:output|response|input"
            r"|parameter))|\bmodel not exist\b|\bnot found the model\b"
            r"|\bmodel (?:identifier|name|id)\b[^.\n]{0,40}\b(?:is|was) (?:invalid|not valid|unknown"
            r"|not recogni[sz]ed)\b"
            r"|\bis not a valid model\b|\bno endpoints found for\b"
            r"|\bno allowed providers are available for the selected model\b"
            r"|\bunable to access (?:\S+ )?model\b"
            r"|\bmodel\b(?:[^.\n]|\.(?=\w)){0,80}\bis not (?:available|supported)\b(?! (?:for|in|with) (?:tool|image"
            r"|stream"
            r"|function))"
            r"|\bmodel (?:(?:was|is|has been) )?unloaded\b|模型不存在"
        ),
        status=(400, 403, 404, 410, 422, 500, "none", "2xx"),
        unless=r"\bon-demand throughput\b|\buse case details\b|\baccess to (?:this|the) model\b",
        cause=Cause.MODEL_UNKNOWN,
    ),
    Rule(
        id="words.permission",
        source="providers' error pages, recorded errors",
        text=(
            r"\bnot (?:allowed|permitted|authorized|enabled|entitled|eligible) to (?:use|access|invoke|perform"
            r"|call|make|sample)\b"
            r"|\b(?:don't|do not|doesn't|does not|lacks?|without) (?:currently )?(?:have )?(?:the )?(?:necessary "
            r"|required |proper )?"
            r"(?:access|permissions?|data action|authorization) (?:to|for|on|the)\b|\bdoes(?:n't"
            r"| not) have (?:access|permissions?)\b"
            r"|\b(?:country|region|territory|location)\b[^.\n]{0,60}\bnot (?:supported|available|allowed)\b"
            r"|\bis not available in your (?:country|region)\b"
            r"|\bno access to\b|\baccess (?:to [^.\n]{0,80} )?(?:is |was |has been )?denied\b"
            r"|\bpermission(?: \S+)? denied\b|\binsufficient permissions?\b"
            r"|\bmissing scopes?\b|\bdoes not meet scope\b|\b(?:organi[sz]ation|account|project|team"
            r"|workspace) (?:has been|is|was) (?:disabled|suspended|restricted|banned|blocked)\b"
            r"|\bhas not been used in project\b|\bgated (?:repo|model)\b|\baccept (?:the |our "
            r"|its )?[^.\n]{0,30}(?:terms|license|agreement)\b"
            r"|\brequest not allowed\b|\bis not authorized\b|\bnot currently allowed for this organi[sz]ation\b"
            r"|\buse case details have not been submitted\b|\bunauthorized to (?:access|use|perform)\b"
            r"|\baccess to (?:this|the) model is (?:not available|restricted|disabled)\b"
            r"|\bfirewall rules\b|\borgani[sz]ation policy constraint\b|\bprohibited by organi[sz]ation(?:'s"
            r"|al)? policy\b"
            r"|\bapi access (?:has been|is|was) (?:blocked|disabled|suspended|revoked|restricted)\b"
        ),
        status=(400, 401, 403, 404, "none", 451, 500),
        unless=_RATE,
        cause=Cause.PERMISSION_DENIED,
    ),
    Rule(
        id="words.capacity",
        source="Mistral, Gemini, Vertex, Azure: 429 that is the service's load, not the user's limit",
        text=(
            r"\boverloaded\b|\b(?:over|at|no|out of|insufficient|limited) capacity\b"
            r"|\bcapacity (?:(?:temporarily )?exceeded"
            r"|constraints?|available|limits?)\b"
            r"|\b(?:high|heavy|increased|peak) (?:demand|load|traffic)\b|\bserver (?:is )?(?:too )?busy\b"
            r"|\btoo busy\b|\bserver is (?:currently )?processing too many requests\b"
            r"|\b(?:is )?(?:currently|still) loading\b|\bloading model\b|\bmodel is loading\b|\bnot ready yet\b"
            r"|\bqueue is full\b"
            r"|\bmaximum pending requests exceeded\b|\bmaximum queue size\b"
        ),
        unless=r"\brate[\s_-]?limit (?:reached|exceeded)|\byour (?:\w+ )?rate limit\b",
        status=(408, 409, 424, 429, "5xx", "2xx", "none"),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="words.database",
        source="SQLite, PostgreSQL (class 40, 53, 57P), MySQL (1040, 1205, 1213): the same call can succeed later",
        text=(
            r"\bdatabase (?:table )?is locked\b|\btoo many clients already\b|\btoo many connections\b"
            r"|\bdatabase system is (?:starting up|shutting down|in recovery mode|not yet accepting connections)\b"
            r"|\bremaining connection slots are reserved\b|\bdeadlock (?:detected|found)\b"
            r"|\bcould not serialize access\b|\block wait timeout exceeded\b"
        ),
        status=("none",),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="words.memory",
        source="Ollama, llama.cpp, vLLM: the machine is too small for the model",
        text=(
            r"\brequires more system memory\b|\bout of memory\b|\bnot enough (?:GPU |system )?memory\b"
            r"|\binsufficient system resources\b|\btoo large to be loaded\b"
        ),
        status=(400, 403, "5xx", "none"),
        cause=Cause.SERVICE_UNAVAILABLE,
        persistence=Persistence.NEEDS_CHANGE,
    ),
    Rule(
        id="words.rate",
        source="providers' error pages, recorded errors",
        text=(
            _RATE + r"|\bquota exceeded\b|\blimited to \d+ [^.\n]{0,40}(?:/|per) ?(?:minute|min|second|hour)\b"
            r"|\bresource (?:has been )?exhausted\b"
            r"|\bconcurrency limit\b|\btoo many concurrent\b|\bnumber of concurrent (?:connections|requests)\b"
            r"|\bplease wait before trying again\b"
            r"|速率限制|请求过于频繁|并发"
        ),
        status=(400, 403, 413, 429, 503, 529, "2xx", "none"),
        cause=Cause.RATE_LIMITED,
    ),
    Rule(
        id="words.server",
        source="providers' error pages, recorded errors",
        text=(
            r"\binvalid response from an upstream\b|\ban error occurred while processing\b"
            r"|\bencountered an (?:unexpected )?error\b"
            r"|\binternal (?:server )?error\b|\bserver had an error\b|\bunexpected server error\b|\bbad gateway\b"
            r"|\bservice (?:is )?(?:temporarily |currently )?unavailable\b"
            r"|\b(?:is )?temporarily unavailable\b|\bprovider returned error\b|\bupstream (?:connect )?error\b"
        ),
        status=("2xx", "none"),
        cause=Cause.SERVICE_UNAVAILABLE,
    ),
    Rule(
        id="words.timeout",
        source="providers' error pages, recorded errors",
        text=(
            r"\btimed[ -]?out\b|\b(?:request|gateway|read|connect(?:ion)?|server|upstream|response|operation"
            r"|a) time-?out\b"
            r"|\b(?:statement|query|lock wait|lock) time-?out\b"
            r"|\bdeadline (?:exceeded|expired)\b|\btime-?out (?:error|occurred|expired|exceeded|after|waiting)\b"
            r"|^time-?out\b"
        ),
        status=(408, 499, "5xx", "2xx", "none"),
        cause=Cause.TIMEOUT,
    ),
    Rule(
        id="words.network",
        source="Python, Node and proxy texts for a connection that did not hold",
        text=(
            r"\bconnection (?:error|refused|reset|aborted|closed|lost|failed|attempts? failed|broken|terminated"
            r"|was)\b|\bECONN(?:REFUSED|RESET|ABORTED)\b"
            r"|\b(?:EAI_AGAIN|ENOTFOUND|EPIPE|ETIMEDOUT)\b|\bgetaddrinfo\b|\bname or service not known\b"
            r"|\bname resolution\b"
            r"|\bnodename nor servname\b|\bnetwork (?:is )?unreachable\b|\bno route to host\b"
            r"|\ball connection attempts failed\b"
            r"|\bpeer closed connection\b|\bserver disconnected\b|\bsocket hang up\b|\bincomplete chunked read\b"
            r"|\bbroken pipe\b|\bfetch failed\b"
            r"|\bunexpected eof\b|\bpremature (?:close|end)\b|\bstream (?:ended|closed|interrupted|terminated"
            r"|disconnected)\b|\bcannot connect to\b"
            r"|\bfailed to (?:establish|connect)\b|\bremote end closed\b"
            r"|\bserver closed the connection\b|\bMySQL server has gone away\b|\blost connection to\b"
        ),
        status=("none", "2xx"),
        cause=Cause.NETWORK,
    ),
    Rule(
        id="words.come-back",
        source="any server that names a time to come back",
        text=SAYS_WHEN + r"[^.\n]{0,12}(?:s|ms|sec\w*|min\w*|hours?|h|m|days?)\b",
        status=(429, 503, "none"),
        cause=Cause.RATE_LIMITED,
    ),
)
