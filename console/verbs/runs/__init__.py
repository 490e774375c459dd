"""Verbs on runs: run, show, freeze, rewind, export, prune.

Imports `runtime.operations.requests`, `console.demo`, `console.html`, `console.linear`, `console.verbs.program`,
`console.verbs`, `console`, `orbiter`, `runtime.config`, `runtime.daemon`, `runtime.execution.secret_vault`,
`runtime.judgement.comparison`, `runtime.judgement.reports`, `runtime.operations`, `runtime.record.state`,
`runtime.record`, `runtime.swarms`, `runtime.testing.*`, `screens.render`, `screens.views.*`, `click` and `msgspec`.
"""
