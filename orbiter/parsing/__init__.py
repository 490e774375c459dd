"""JSON, TOML and YAML that people and other programs wrote, read within one limit of nesting.

Imports `yaml`.
"""
