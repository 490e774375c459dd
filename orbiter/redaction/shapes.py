"""Secrets found by their shape: keys and tokens as their issuers document them.

Every shape begins where no letter or digit stands before it, and no two parts of one can match the same characters:
reading a text takes time in proportion to its length.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator
from math import log2

from orbiter.redaction.spans import Span

_W = r"[A-Za-z0-9]"
_U = r"[A-Za-z0-9_-]"
_SHAPES = rf"""
  (?:sk|pk|rk)-(?=[\w.-]{{0,99}}[0-9*…A-Z])[\w*.…-]{{6,}}  # OpenAI, Anthropic and others; starred, as in OpenAI's 401
| (?:gsk_|xai-|gh[pousr]_|csk-|r8_)[A-Za-z0-9*]{{10,}} | (?:hf|jina|fw|api_org)_[A-Za-z0-9*]{{16,}}
| (?:github_pat_|nvapi-|pplx-|tvly-|lsv2_(?:pt|sk)_|pcsk_)[\w*-]{{16,}}
| AIza{_U}{{20,}}                                       # Google: API key
| ya29\.[\w.-]{{10,}}                                   # Google: access token
| GOCSPX-{_U}{{20,}}                                    # Google: client secret
| 1//0[0-9a-z]{_U}{{20,}}                               # Google: refresh token
| A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{{12,}}                   # AWS: key id
| ABSK[A-Za-z0-9+/]{{60,}}={{0,2}}                      # AWS: Bedrock
| eyJ{_U}{{8,512}}\.{_U}{{8,}}(?:\.{_U}*){{0,3}}         # JSON web token, signed or encrypted
| xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{{10,}} | xapp-\d-[A-Za-z0-9-]{{10,}} | xwfp-[A-Za-z0-9-]{{10,}}  # Slack
| hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{{10,}}
| discord(?:app)?\.com/api/webhooks/\d{{1,24}}/[\w-]{{10,}}
| [a-z0-9-]{{1,60}}\.webhook\.office\.com/webhookb2/[\w@/-]{{10,}}
| \d{{8,10}}:AA{_U}{{30,}}                              # Telegram
| [MNO][\w-]{{22,27}}\.[\w-]{{6}}\.[\w-]{{27,}}         # Discord
| gl(?:pat|dt|ptt|rt|soat|cbt|ft|imt|agent|oas|ffct)-[\w.-]{{15,}}       # GitLab
| (?:sk|rk|pk)_(?:live|test)_{_W}{{10,}} | whsec_[A-Za-z0-9+/=]{{16,}}   # Stripe
| (?:AC|SK)[0-9a-f]{{32}}(?![0-9A-Za-z])                # Twilio
| SG\.{_U}{{10,64}}\.{_U}{{10,}}                        # SendGrid
| key-[0-9a-f]{{32}}(?![0-9A-Za-z])                     # Mailgun
| [0-9a-f]{{32}}-us\d{{1,2}}(?![0-9A-Za-z])             # Mailchimp
| dapi[0-9a-f]{{32}}                                    # Databricks
| do[por]_v1_[0-9a-f]{{32,}}                            # DigitalOcean
| lin_api_{_W}{{20,}} | (?:ntn|secret)_{_W}{{30,}}      # Linear, Notion
| shp(?:at|ss|ca|pa)_[0-9a-fA-F]{{20,}}                 # Shopify
| hv[sbr]\.{_U}{{20,}}                                  # Vault
| AGE-SECRET-KEY-1[0-9A-Z]{{20,}}
| npm_{_W}{{20,}} | pypi-{_U}{{20,}} | rubygems_[0-9a-f]{{40,}} | dckr_(?:pat|oat)_{_U}{{20,}}
| figd_{_U}{{20,}} | sntr[yu]s_[\w+/=-]{{20,}} | glc_[A-Za-z0-9+/]{{32,}}={{0,2}} | glsa_{_W}{{32}}_[0-9a-fA-F]{{8}}
| PMAK-[0-9a-f]{{24}}-[0-9a-f]{{20,}} | EAA[A-Za-z]{_W}{{40,}} | sq0(?:atp|csp|idp)-{_U}{{20,}} | EAAA{_U}{{50,}}
| {_W}{{40,60}}JQQJ9[9D]{_W}{{16,40}}(?!{_W})           # Azure: OpenAI and other services
| [\w.~-]{{3}}[78]Q~[\w.~-]{{31,34}}(?![\w.~-])         # Azure: client secret
"""
_KNOWN = re.compile(rf"(?<![A-Za-z0-9])(?:{_SHAPES})", re.VERBOSE)
_PREFIX = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      [spr]k[-_] | gsk_ | xai- | hf_ | gh[pousr]_ | github_pat_ | nvapi- | pplx- | tvly- | r8_ | AIza | ya29\. | GOCSPX-
    | A[KS]IA | eyJ | xox[a-z]- | xapp- | gl[a-z]{2,5}- | whsec_ | SG\. | dapi | do[por]_v1_ | hvs\. | npm_ | pypi-
    | AC[0-9a-f] | SK[0-9a-f] | key-[0-9a-f] | lin_api_ | ntn_ | shp[a-z]{2}_ | \d{8,10}:AA
    )""",
    re.VERBOSE,
)
_PIECE = re.compile(r"[\w.:/+=*-]{1,4096}")
_GAP = re.compile("[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{1,40}")
_PIECES = 12

_PEM = re.compile(
    r"""-----BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----
        (?:\s*(?:Proc-Type|DEK-Info|Version|Comment):[^\r\n]*)*
        (?:\s*(?:[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/=]+(?=\s*(?:-----END|["'<\\]|\Z))))*
        (?:\s*[A-Za-z0-9+/=]*\s*-----END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----)?""",
    re.VERBOSE,
)
_FORTY = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}")
_LONGEST_BASE64 = 64 * 1024


def find_shaped(text: str) -> Iterator[Span]:
    """Keys of a known shape, private keys in PEM, and what looks like a secret key of AWS."""
    for found in _KNOWN.finditer(text):
        yield Span(found.start(), found.end())
    for found in _PEM.finditer(text):
        yield Span(found.start(), found.end())
    for found in _FORTY.finditer(text):
        if is_random(found[0]):
            yield Span(found.start(), found.end())


def is_random(text: str) -> bool:
    """Whether 40 characters look drawn at random: a digest in hexadecimal, a path and a long name do not."""
    kinds = [sum(map(kind, text)) for kind in (str.isdigit, str.isupper, str.islower)]
    if kinds[0] < 1 or kinds[1] < 6 or kinds[2] < 6 or text.count("/") > 4 or text.startswith("/"):
        return False
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values()) >= 4.4


def is_mixed(text: str) -> bool:
    """Whether a piece of text can be part of a key: letters with digits, or capitals inside, and no ordinary word."""
    digits, letters = any(map(str.isdigit, text)), any(map(str.isalpha, text))
    if len(text) < 4 or not letters:
        return False
    inside = text[1:]
    return digits or (not text.isupper() and inside != inside.lower() and inside != inside.upper())


def find_broken(text: str) -> Iterator[Span]:
    """Keys of a known shape with white space inside: wrapped by an editor, a mail, a terminal."""
    done = 0
    for found in _PREFIX.finditer(text):
        if found.start() < done:
            continue
        piece = _PIECE.match(text, found.start())
        if piece is None:
            continue
        pieces = [piece]
        while len(pieces) < _PIECES and (gap := _GAP.match(text, pieces[-1].end())) is not None:
            piece = _PIECE.match(text, gap.end())
            if piece is None or not is_mixed(piece[0]):
                break
            pieces.append(piece)
        if len(pieces) > 1 and _KNOWN.match("".join(each[0] for each in pieces)) is not None:
            done = pieces[-1].end()
            yield Span(found.start(), done)


def find_base64(text: str) -> Iterator[tuple[Span, str]]:
    """Stretches of Base64 that hold text, with that text."""
    for found in _BASE64.finditer(text):
        body = found[0].rstrip("=")[:_LONGEST_BASE64].replace("-", "+").replace("_", "/")
        body = body[: len(body) - (len(body) % 4 == 1)]
        try:
            # The first bytes tell pictures and digests from text.
            if not _is_text(base64.b64decode(body[:40] + "=" * (-len(body[:40]) % 4))):
                continue
            decoded = base64.b64decode(body + "=" * (-len(body) % 4))
        except binascii.Error:
            continue
        if _is_text(decoded):
            yield Span(found.start(), found.end()), decoded.decode("utf-8", "replace")


_TEXT = frozenset(range(0x20, 0x7F)) | {0x09, 0x0A, 0x0D}


def _is_text(data: bytes) -> bool:
    return bool(data) and sum(byte in _TEXT for byte in data) >= 0.95 * len(data)
