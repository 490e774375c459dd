"""The redactor of `orbiter.redaction`, under the name by which it was known here."""

from orbiter.redaction import MARK, BadPattern, Redactor

__all__ = ["MARK", "BadPattern", "Redactor"]
