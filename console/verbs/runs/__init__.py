"""Verbs on runs: run, show, freeze, rewind, export, prune.

Imports `console.demo`, `console.linear`, `console.verbs.program`, `console.verbs`, `console`, `orbiter`,
`runtime.config`, `runtime.daemon`, `runtime.execution.secret_vault`, `runtime.judgement.reports`,
`runtime.operations`, `runtime.record.state`, `runtime.record`, `runtime.swarms`,
`screens.render`, `screens.views.*` and `click`.
"""
