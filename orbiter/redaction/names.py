"""Names that say that their value is a secret: members of JSON, labels, parameters, headers, variables."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

LONGEST = 100
"""Characters of a name that is looked at."""


class NameRating(IntEnum):
    """How much a name says. `WEAK`: the word also has other meanings (``token``, ``key``): the value decides."""

    NO = 0
    WEAK = 1
    STRONG = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_STRONG = _words(
    """
    password passwords passwd pwd passphrase passcode secret secrets credential credentials apikey apikeys
    apitoken authtoken accesstoken authorization cookie cookies dsn pgpass secretkey accesskey privatekey
    authkey clientsecret dbpass dbpassword userpass sessionid sessid phpsessid jsessionid csrftoken xsrftoken
    mypassword userpassword
    """
)
_ENDINGS = ("password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey")
_WEAK = _words(
    """
    token key pass pin otp auth sig signature sid jwt creds cred keys
    """
)
_KEYS = _words(
    """
    api access secret private account shared signing signature encryption master service subscription auth
    client admin deploy ssh storage app application license webhook functions host root goog hmac jwt session
    rsa tls ssl
    """
)
"""Words before "key" with which it is a secret."""
_NO_KEYS = _words(
    """
    public primary foreign sort partition cache hot index row group dedupe natural idempotency registry route
    dict map object composite unique lookup any press return escape shift control enter arrow function message
    translation i18n property attribute config setting sorting join hash bucket s3 document answer major minor
    metric
    """
)
_NO_TOKENS = _words(
    """
    max min num total prompt completion input output next page continuation stop pagination eos bos pad unk mask
    special per unexpected invalid each last first used cached reasoning sync parser syntax cursor marker new
    sep cls end start one this the a of expected illegal word image text audio by single previous
    """
)
_TAILS = _words(
    """
    value header prod production dev development staging live test base primary old secondary new current
    previous backup main default b64 base64 plain raw text str string data hash eu us ro rw read write json pem
    a b c
    """
)
"""Words after a telling one with which it still tells."""


@lru_cache(maxsize=4096)
def rate_name(name: str) -> NameRating:
    """What a name says of its value: ``OPENAI_API_KEY``, ``clientSecret``, ``x-goog-api-key``, ``db.password``."""
    if len(name) > LONGEST:
        return NameRating.NO
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1] in _TAILS or _is_number_of(words, name)):
        words.pop()
    if not words:
        return NameRating.NO
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "id" and words[-3:-1] in (["access", "key"], ["secret", "key"]):
        return NameRating.STRONG
    if last in {"id", "string"} and before in {"session", "connection"}:
        return NameRating.STRONG
    if last in _STRONG or last.endswith(_ENDINGS):
        return (
            NameRating.STRONG if before not in {"no", "not", "public", "forgot", "reset", "consent"} else NameRating.NO
        )
    if last not in _WEAK:
        return NameRating.NO
    if last in {"token", "jwt", "sig", "signature"} and before:
        return NameRating.NO if before in _NO_TOKENS else NameRating.STRONG
    if last in {"key", "keys"} and before:
        return NameRating.STRONG if before in _KEYS else NameRating.NO if before in _NO_KEYS else NameRating.WEAK
    return NameRating.WEAK


def _is_number_of(words: list[str], name: str) -> bool:
    """Whether the last word numbers one of several: ``API_KEY_2``, ``password1``, and not ``auth0``."""
    before, number, after = name.rpartition(words[-1])
    return number.isdigit() and (after != "" or before[-1:] in {"", "_", "-", "."} or words[-2:-1] != ["auth"])


_COMMON = _words(
    """
    none null nil true false yes no on off str string int integer float number bool boolean bytes object array
    list dict any optional required undefined unset default enabled disabled missing invalid valid expired wrong
    incorrect unknown empty auto secretstr self not is was has must text env value example pass anything changeme
    change-me
    placeholder dummy test tests testing debug info production development staging local localhost admin root
    user username guest password secret token key basic bearer anonymous public private strict always never
    allow deny redacted xterm x11 wayland user:password user:pass md5 sha1 sha256 sha512 hs256 rs256 es256 agent
    keyring vault file prompt hidden masked main master utf-8
    """
)
_ORDINARY = re.compile(
    r"""(?ix)
      [*.•_-]* | x{3,}                                                             # nothing, or masked already
    | <[^<>]*> | \[[\w\ ]*\] | \{{1,2}[\w\ .]*\}{1,2} | \$\{?[a-z_]\w*\}? | %\w+%  # a place for a value
    | [+-]?[0-9]{0,5}(?:\.[0-9]*)?\ ?(?:ms|[smhd]|[kmgt]?i?b|%)?            # a number, with its unit
    | \#[0-9a-f]{3,8}                                                      # a colour
    | [0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T\ ][0-9:.]+Z?)?                        # a date
    """
)
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@ -]{0,40})+")
_DRAWN = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[a-z])(?=[^/]*[A-Z])[A-Za-z0-9]{16}")


def is_ordinary(value: str) -> bool:
    """Whether a value says nothing, whatever it is called: a common word, a path, a short number, a place for one."""
    value = value.strip().strip("\"'")
    if value.lower() in _COMMON or len(value) > 400:
        return value.lower() in _COMMON
    if _PATH.fullmatch(value) is not None:
        return _DRAWN.search(value) is None  # a key may begin with a slash, too
    return _ORDINARY.fullmatch(value) is not None
