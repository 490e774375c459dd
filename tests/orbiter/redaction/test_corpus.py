"""Keys in the shapes that they really have, each in the places where logs, errors and code leave them.

Every value is made up, after the vendor's own documentation of its form.
"""

from __future__ import annotations

import json
import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.redaction import Redactor, redact

_RNG = random.Random(7)


def _any(alphabet: str, length: int) -> str:
    return "".join(_RNG.choice(alphabet) for _ in range(length))


WORD, HEX = string.ascii_letters + string.digits, "0123456789abcdef"

SHAPES: dict[str, str] = {
    "openai": f"sk-{_any(WORD, 20)}T3BlbkFJ{_any(WORD, 20)}",
    "openai project": f"sk-proj-{_any(WORD, 60)}_{_any(WORD, 20)}",
    "openai service account": f"sk-svcacct-{_any(WORD, 60)}",
    "anthropic": f"sk-ant-api03-{_any(WORD, 40)}-{_any(WORD, 40)}AA",
    "anthropic oauth": f"sk-ant-oat01-{_any(WORD, 60)}",
    "openrouter": f"sk-or-v1-{_any(HEX, 64)}",
    "google": f"AIzaSy{_any(WORD, 33)}",
    "google oauth": f"ya29.a0{_any(WORD, 60)}",
    "groq": f"gsk_{_any(WORD, 52)}",
    "xai": f"xai-{_any(WORD, 80)}",
    "hugging face": f"hf_{_any(WORD, 34)}",
    "replicate": f"r8_{_any(WORD, 37)}",
    "nvidia": f"nvapi-{_any(WORD, 64)}",
    "perplexity": f"pplx-{_any(HEX, 48)}",
    "tavily": f"tvly-{_any(WORD, 32)}",
    "langsmith": f"lsv2_pt_{_any(HEX, 32)}_{_any(HEX, 10)}",
    "pinecone": f"pcsk_{_any(WORD, 60)}",
    "aws": f"AKIA{_any(string.ascii_uppercase + '234567', 16)}",
    "aws temporary": f"ASIA{_any(string.ascii_uppercase + '234567', 16)}",
    "github": f"ghp_{_any(WORD, 36)}",
    "github server": f"ghs_{_any(WORD, 36)}",
    "github user": f"ghu_{_any(WORD, 36)}",
    "github fine": f"github_pat_{_any(WORD, 22)}_{_any(WORD, 59)}",
    "gitlab": f"glpat-{_any(WORD, 20)}",
    "gitlab runner": f"glrt-{_any(WORD, 20)}",
    "slack bot": f"xoxb-{_any(string.digits, 11)}-{_any(string.digits, 12)}-{_any(WORD, 24)}",
    "slack app": f"xapp-1-A0{_any(string.ascii_uppercase, 9)}-{_any(string.digits, 13)}-{_any(HEX, 64)}",
    "slack hook": f"hooks.slack.com/services/T{_any(WORD, 8)}/B{_any(WORD, 8)}/{_any(WORD, 24)}",
    "discord hook": f"discord.com/api/webhooks/{_any(string.digits, 18)}/{_any(WORD, 68)}",
    "discord bot": f"MT{_any(WORD, 22)}.{_any(WORD, 6)}.{_any(WORD, 38)}",
    "telegram": f"{_any('123456789', 10)}:AA{_any(WORD, 33)}",
    "stripe": f"sk_live_{_any(WORD, 24)}",
    "stripe restricted": f"rk_test_{_any(WORD, 24)}",
    "stripe hook": f"whsec_{_any(WORD, 32)}",
    "twilio": f"SK{_any(HEX, 32)}",
    "sendgrid": f"SG.{_any(WORD, 22)}.{_any(WORD, 43)}",
    "mailgun": f"key-{_any(HEX, 32)}",
    "npm": f"npm_{_any(WORD, 36)}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{_any(WORD, 60)}",
    "databricks": f"dapi{_any(HEX, 32)}",
    "digitalocean": f"dop_v1_{_any(HEX, 64)}",
    "linear": f"lin_api_{_any(WORD, 40)}",
    "notion": f"ntn_{_any(WORD, 46)}",
    "shopify": f"shpat_{_any(HEX, 32)}",
    "vault": f"hvs.{_any(WORD, 90)}",
    "age": f"AGE-SECRET-KEY-1{_any(string.ascii_uppercase + string.digits, 58)}",
    "json web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{_any(WORD, 43)}",
    "e-mail": "grace.hopper+ops@navy.example.mil",
}
"""By their own shape: known wherever they stand."""

PLACES = [
    "{}",
    "wrong key: {}.",
    "key={}, next",
    '{{"a": "{}"}}',
    "('{}',)",
    "https://api.example.com/v1?x={}&y=1",
    "curl -H 'X-Key: {}' https://x",
    "line one\n{}\nline three",
    "`{}`",
    "<{}>",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SHAPES)
def test_a_key_of_a_known_shape_goes_wherever_it_stands(name: str, place: str) -> None:
    said = Redactor().text(place.format(SHAPES[name]))
    # Not even a tail of it that would do to guess the rest.
    assert SHAPES[name][-10:] not in said
    assert "[redacted]" in said


BARE = _any(WORD, 40)  # as Cohere's, Mistral's, Azure's and AWS's: nothing in it says what it is
LABELLED = [
    "COHERE_API_KEY={}",
    "export MISTRAL_API_KEY='{}'",
    'AZURE_OPENAI_API_KEY = "{}"',
    "aws_secret_access_key = {}",
    "AWS_SESSION_TOKEN={}",
    "GITHUB_TOKEN: {}",
    "DB_PASSWORD={}",
    '{{"client_secret": "{}"}}',
    "{{'refresh_token': '{}'}}",
    '{{\\"api_key\\": \\"{}\\"}}',
    "AccountName=x;AccountKey={};EndpointSuffix=core.windows.net",
    "Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey={}",
    "Authorization: Bearer {}",
    "Proxy-Authorization: Basic {}",
    "x-goog-api-key: {}",
    "Cookie: session={}; theme=dark",
    "Set-Cookie: sid={}; HttpOnly",
    "postgres://app:{}@db.internal:5432/app",
    "amqps://user:{}@mq/vhost",
    "https://x/y?token={}&z=1",
    "https://x.blob.core.windows.net/c?sv=2024&sig={}",
]


@pytest.mark.parametrize("place", LABELLED)
def test_a_key_without_a_shape_goes_by_what_it_is_called(place: str) -> None:
    assert BARE[-10:] not in Redactor().text(place.format(BARE))


@pytest.mark.parametrize("kind", ["RSA PRIVATE", "EC PRIVATE", "OPENSSH PRIVATE", "ENCRYPTED PRIVATE", "PRIVATE"])
@pytest.mark.parametrize("cut", [False, True])
def test_a_private_key_goes_whole_and_cut(kind: str, cut: bool) -> None:
    lines = "\n".join(_any(WORD, 64) for _ in range(4))
    pem = f"-----BEGIN {kind} KEY-----\n{lines}\n-----END {kind} KEY-----"
    said = Redactor().text(f"before {pem[: len(pem) // 2] if cut else pem}")
    assert said == "before [redacted]"


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for gpt-4o in organization org-x: Limit 30000, Used 29000.",
        "Unexpected token: identifier at line 3",
        "max_tokens: 10000 is more than 4096; prompt_tokens=12345678",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "run 261121-040506-a1b2c3d4, incident i-7kq2m4xa, grant g-p4x9kq2m",
        "swarm(noter...)~0/noter~0.0/llm~0",
        "/srv/data/secret/password.md was not written: no space left (28)",
        "The key was refused; a risk-free task-based ask-me-anything",
        "SKU 12 of ACME: key-value store, keyboard, monkey",
        "toolu_01A09q90qw90lq917835lq9",
        "2026-11-21T04:05:06.123456+00:00",
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    ],
)
def test_what_is_no_key_stays(text: str) -> None:
    assert Redactor().text(text) == text


@given(st.text(max_size=200), st.sampled_from(sorted(SHAPES.values())), st.text(max_size=200))
def test_nothing_around_a_key_saves_it_and_masking_twice_is_masking_once(before: str, key: str, after: str) -> None:
    redactor = Redactor()
    text = f"{before} {key} {after}"
    once = redactor.text(text)
    assert key not in once
    assert redactor.text(once) == once


HOSTILE = {
    "words": "a_" * 40_000,
    "labels": "api_" * 20_000,
    "tokens": "eyJ" * 30_000,
    "mails": "x@" * 40_000,
    "pem": "-----BEGIN " * 9_000,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_in_one_go(hostile: str) -> None:
    # The test's own time limit is what fails where this backtracks.
    assert len(redact(hostile)) <= len(hostile) + 20
    Redactor().text(hostile)


def test_a_value_is_masked_by_its_own_shape_and_by_the_name_of_its_place() -> None:
    value = {"headers": {"authorization": BARE, "x-api-key": BARE, "accept": "json"}, "env": [f"A={SHAPES['aws']}"]}
    said = json.dumps(Redactor().value(value))
    assert not re.search(f"{BARE}|{SHAPES['aws']}", said)
    assert "json" in said
