"""The Textual app: wiring, startup, settings, notifications, error handling.

Imports `console`, `console.preferences`, `console.terminal`, `orbiter`, `orbiter.redaction`,
`runtime.judgement.reports`, `runtime.link.client`, `runtime.record.state`, `screens.*`, `themes` and `textual`.
"""
