"""Verbs on the program: the console, serve, doctor, config, themes, keys, logs.

Imports `runtime.operations.requests`, `runtime.operations`, `console`, `console.checks`, `console.linear`,
`console.mcp`, `console.preferences`, `console.verbs`, `console.verbs.decisions`, `orbiter`, `orbiter.mcp`,
`orbiter.parsing`, `orbiter.redaction`, `runtime.config`, `runtime.daemon`, `runtime.execution`, `runtime.judgement.*`,
`runtime.link.transports`, `runtime.record`, `runtime.record.state`, `runtime.service`, `runtime.swarms`,
`runtime.worker`, `runtime.worker.engines`, `screens.render`, `screens.shell`, `screens.views.*`, `themes`, `click` and
`msgspec`.
"""
