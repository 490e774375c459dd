"""Verbs on the program: the console, serve, doctor, config, themes, keys, logs.

Imports `console`, `console.checks`, `console.linear`, `console.preferences`, `console.verbs`,
`console.verbs.decisions`, `orbiter`, `orbiter.redaction`, `runtime.config`, `runtime.daemon`, `runtime.judgement.*`,
`runtime.link.transports`, `runtime.link.verbs`, `runtime.record`, `runtime.record.state`,
`runtime.service`, `screens.render`, `screens.shell`, `screens.views.*`, `themes` and `click`.
"""
