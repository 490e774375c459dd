"""An incident's title: the first sentence wherever it is shown."""

from __future__ import annotations


def incident_title(question: str, message: str, user_message: str, rule_message: str) -> str:
    """The question; the author's words; else the error's own text.

    Args:
        question: What is asked of a person; empty where nothing is.
        message: The error's own text.
        user_message: The fault's sentence for people.
        rule_message: The sentence of the rules, where `user_message` has the author's words; else empty.
    """
    return question or (user_message if rule_message else "") or message or user_message
