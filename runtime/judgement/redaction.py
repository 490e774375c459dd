"""Taking out of texts what must not leave the workspace: keys and tokens by their shape, addresses of people, known
secrets, and what the operator's own patterns find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from orbiter.models.redact import MARK, redact

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}(?![\w-])")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_SHAPES = re.compile(
    r"""
      \bxox[abceposr]-[A-Za-z0-9-]{10,}             # Slack
    | \bxapp-\d-[A-Za-z0-9-]{10,}
    | \bhooks\.slack\.com/services/[A-Za-z0-9/_-]{10,}
    | \bdiscord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{10,}
    | \b\d{8,10}:AA[A-Za-z0-9_-]{30,}               # Telegram
    | \b[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,} # Discord
    | \bgl(?:pat|dt|ptt|rt|soat)-[A-Za-z0-9_-]{15,} # GitLab
    | \b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,} # Stripe
    | \bwhsec_[A-Za-z0-9+/=]{16,}
    | \b(?:AC|SK)[0-9a-f]{32}\b                     # Twilio
    | \bkey-[0-9a-f]{32}\b                          # Mailgun
    | \bdapi[0-9a-f]{32}                            # Databricks
    | \b(?:dop|doo|dor)_v1_[0-9a-f]{32,}            # DigitalOcean
    | \blin_api_[A-Za-z0-9]{20,}                    # Linear
    | \b(?:ntn|secret)_[A-Za-z0-9]{30,}             # Notion
    | \bshp(?:at|ss|ca|pa)_[0-9a-fA-F]{20,}         # Shopify
    | \bhv[sb]\.[A-Za-z0-9_-]{20,}                  # Vault
    | \bAGE-SECRET-KEY-1[0-9A-Z]{20,}
    | \bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}  # SendGrid
    | \bnpm_[A-Za-z0-9]{20,}
    | \bpypi-[A-Za-z0-9_-]{20,}
    """,
    re.VERBOSE,
)


class BadPattern(ValueError):
    """A configured pattern is no regular expression; the text says where it goes wrong."""


class Redactor:
    """Masks texts. `secrets` are masked as they are, `patterns` are regular expressions.

    Raises:
        BadPattern: a pattern cannot be read, or it matches the empty text.
    """

    def __init__(self, patterns: Iterable[str] = (), secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._own: list[re.Pattern[str]] = []
        for pattern in patterns:
            try:
                compiled = re.compile(pattern)
            except re.error as exc:
                raise BadPattern(f"the pattern {pattern!r} cannot be read: {exc}") from exc
            if compiled.search("") is not None:
                raise BadPattern(f"the pattern {pattern!r} matches everywhere: it would leave nothing")
            self._own.append(compiled)

    def text(self, text: str) -> str:
        """`text` with what must not be seen replaced."""
        text = _PRIVATE_KEY.sub(MARK, text)
        text = redact(text, self._secrets)
        text = _SHAPES.sub(MARK, text)
        for pattern in self._own:
            text = pattern.sub(MARK, text)
        return _EMAIL.sub(MARK, text)

    def value(self, value: Any) -> Any:
        """JSON with every text in it masked, keys of objects too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self._member(str(key), each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return value

    def _member(self, key: str, value: Any) -> Any:
        """What a telling name says to be secret is masked whatever it looks like."""
        if isinstance(value, str) and value and _TELLING.search(key):
            return MARK
        return self.value(value)


_TELLING = re.compile(
    r"(?i)(?:^|[_-])(?:authorization|cookie|passw(?:or)?d|passphrase|secret|api[_-]?key|(?:access|account|private|secret)"
    r"[_-]?key|token)$"
)
