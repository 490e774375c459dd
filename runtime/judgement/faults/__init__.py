"""From a failure to its facts: evidence, rules, classification, fingerprint.

Imports `orbiter`, `orbiter._internal.user_code`, `orbiter.models`, `orbiter.parsing`, `orbiter.redaction`,
`runtime.judgement.faults.rules`, `runtime.record.state` and `msgspec`.
"""
