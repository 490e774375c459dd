"""The Textual app: wiring, startup, settings, notifications, error handling.

Imports `console`, `console.demo`, `console.html`, `console.preferences`, `console.terminal`, `orbiter`,
`orbiter.redaction`, `runtime.config`, `runtime.judgement.fault_handling`, `runtime.judgement.reports`,
`runtime.link.client`, `runtime.operations.requests`, `runtime.record.state`, `runtime.service.gc_policy`, `screens.*`,
`themes`, `msgspec`, `rich` and `textual`.
"""
