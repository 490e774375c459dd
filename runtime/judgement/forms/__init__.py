"""Forms for foreign JSON schemas: the fields that a schema asks for, and the value that filled fields make.

Imports `orbiter`, `orbiter.parsing` and `msgspec`.
"""
