"""The HTML report of a run: one file that a browser opens without a server, and that holds the export itself.

Everything here is a pure function of an export that was read back, so what is shown has passed its redactor.

Imports `runtime.judgement.reports`, `runtime.judgement.reports.explanation`, `runtime.record.state`,
`screens.render` and `screens.views.*`.
"""
