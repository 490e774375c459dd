"""What people and other programs wrote: JSON, TOML and YAML, read within one limit of nesting, and misspelt names.

Imports `yaml`.
"""
