"""What several views use: render context, filters, sorting, caches, sentences of events.

Imports `runtime.judgement.reports`, `runtime.link.client`, `screens.render` and `msgspec`.
"""
