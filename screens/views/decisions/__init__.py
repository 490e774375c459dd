"""What prompts and forms show and offer.

Imports `runtime.judgement.recovery`, `runtime.record.state`, `screens.render` and `screens.views.*`.
"""
