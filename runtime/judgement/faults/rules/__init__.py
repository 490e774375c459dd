"""The rules of the classifier: how a rule matches, and the rules that come with the program, which are TOML files.

Imports `runtime.judgement.faults`, `runtime.record.state` and `pydantic`.
"""
