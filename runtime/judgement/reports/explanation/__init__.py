"""The explanation of an incident: what happened, why, what was tried, what is proposed, and what each option will do.

By rules from what the journal holds, at once and offline. A sentence is a template of facts (`causes`, and the table of
options); a fact knows the events that say it; a sentence of which a fact is not known is left out.

Imports `orbiter.models.endpoints`, `orbiter.redaction`, `runtime.judgement`, `runtime.judgement.recovery`,
`runtime.judgement.reports.narration`, `runtime.judgement.reports.report_types`, `runtime.judgement.reports.tracebacks`,
`runtime.judgement.reports.transcript`, `runtime.judgement.reports.waiting_nodes`, `runtime.record.state` and `msgspec`.
"""
