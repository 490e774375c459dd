"""The check of `orbiter.json_schema`, under the name by which it was known here."""

from orbiter.json_schema import problems

__all__ = ["problems"]
