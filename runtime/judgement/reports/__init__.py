"""What people and models are told: reports, prompts, transcripts, digests, audits, notices, exports.

Imports `orbiter`, `orbiter.parsing`, `orbiter.redaction`, `runtime.judgement`, `runtime.judgement.faults`,
`runtime.judgement.faults.rules`, `runtime.judgement.forms`, `runtime.judgement.recovery`,
`runtime.judgement.reports.explanation`, `runtime.record.state`, `genai_prices`, `msgspec` and `pydantic`.
"""
