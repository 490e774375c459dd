"""Texts of user code as they are journaled: without secrets, and cut where they are long."""

from __future__ import annotations

from runtime.execution import secret_vault
from runtime.judgement.faults.fault_words import error_message, shortened


def kept_text(text: str) -> str:
    """A text of user code as it is journaled where it may be of any length: masked, then shortened."""
    return shortened(secret_vault.VAULT.mask(text))


def kept_error(exc: BaseException) -> str:
    """What an error says, as it is journaled: masked, then shortened."""
    return kept_text(error_message(exc))
