"""Secrets in the notations and the encodings in which they leave a program, and texts that hold none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.redaction import REDACTED, Redactor, environment_secrets, redact

SECRET = "Xk29dLqPz07vTw"
KEY = "sk-proj-AbCd0123EfGh4567IjKl8901MnOp2345"

LABELLED = [
    '{"client_secret": "%s"}',
    '{"clientSecret": "%s", "n": 1}',
    '{"a": [{"name": "API_KEY", "value": "%s"}]}',
    '{"cookies": {"sid": "%s"}}',
    '{"passwords": ["%s"]}',
    '{"headers": {"Set-Cookie": "sid=%s; Path=/; HttpOnly"}}',
    '{"api_key": "Set-Cookie: session=%s"}',
    "api_key=Set-Cookie: session=%s",
    "Set-Cookie: session=%s; Path=/; HttpOnly",
    "Set-Cookie: a=1; Expires=Wed, 09 Jun 2026 10:18:14 GMT, b=%s; Path=/",
    "Cookie: theme=dark; lang=en; b=%s",
    "('set-cookie', 'sid=%s')",
    "(b'cookie', b'a=b; sid=%s')",
    "cookies={'sid': '%s'}",
    "export MY_SECRET_TOKEN=%s",
    "ANTHROPIC_API_KEY_1=%s",
    "dbPassword = '%s'",
    "password = '''%s'''",
    "password:\n  %s",
    "tool --password %s --verbose",
    "tool --api-key=%s",
    "curl -u bob:%s https://x",
    "<password>%s</password>",
    '<add key="DbPassword" value="%s"/>',
    "redis://:%s@host:1/0",
    "jdbc:postgresql://h/db?user=u&password=%s",
    "https://%s@sentry.io/12",
    "https://x/y?sig=%s&z=1",
    "the password is %s",
    "Authorization: Bearer %s",
    'Authorization: Digest username="x", response="%s"',
    '{"authorization": ["Bearer %s"]}',
    "Server=a;Database=b;Pwd=%s;",
    '{"password": "%s',
]


def nested(text: str, levels: int) -> str:
    for _ in range(levels):
        text = json.dumps({"arguments": text})
    return text


ENCODED: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in JSON in JSON in JSON": lambda text: nested(text, 3),
    "in a sentence": lambda text: f"it failed: {text}",
    "in a URL": quote,
    "in a URL in JSON": lambda text: json.dumps(quote(text)),
    "in Base64": lambda text: f"body {base64.b64encode(text.encode()).decode()} end",
    "in HTML": lambda text: (
        text.replace("&", "&amp;").replace('"', "&quot;").replace("'", "&#39;").replace("<", "&lt;")
    ),
    "as repr": repr,
}


@pytest.mark.parametrize("encode", ENCODED.values(), ids=ENCODED)
@pytest.mark.parametrize("place", LABELLED)
def test_what_is_called_a_secret_is_masked_however_it_is_written(place: str, encode: Callable[[str], str]) -> None:
    said = Redactor().text(encode(place % SECRET))
    assert SECRET not in said
    assert REDACTED in said
    assert Redactor().text(said) == said


@pytest.mark.parametrize("gap", ["\n", " ", "\r\n    ", "\\n", "\\\\n", "\u200b", "%0A", "\t"])
def test_a_key_that_is_broken_anywhere_is_masked_whole(gap: str) -> None:
    for at in range(4, len(KEY) - 6):
        said = redact(f"the key {KEY[:at]}{gap}{KEY[at:]} is wrong")
        assert said == f"the key {REDACTED} is wrong"


@pytest.mark.parametrize("gap", ["\n", " ", "\\n", "  \n  "])
def test_a_known_secret_that_is_broken_is_masked(gap: str) -> None:
    secret = "correct-horse-battery"
    for at in range(1, len(secret)):
        assert redact(f"it was {secret[:at]}{gap}{secret[at:]}.", [secret]) == f"it was {REDACTED}."


@pytest.mark.parametrize(
    "text",
    [
        "password: str, token: int | None = None, api_key: Optional[str]",
        "password = getpass(), secret = secrets.token_hex(), token = self.token",
        "the password is required, the token is expired, a secret is a string",
        '{"type": "object", "properties": {"password": {"type": "string"}, "token": {"type": "string"}}}',
        '{"max_tokens": 4096, "next_page_token": "CAUQAA", "total_tokens": 123456}',
        "primary_key=id, cache_key: user-17, sort_key=name, public_key=ssh",
        "API_KEY=${API_KEY} TOKEN=<your token> SECRET={{ secret }} PASSWORD=****",
        "sk-learn, sk-cube-grid, risk-free, task-based, hf_hub_download, jina-embeddings-v3",
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 123e4567-e89b-12d3-a456-426614174000",
        "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 20).decode(),
        "src/main/java/com/example/Application2Context.java:17",
        "The cookie: a short story; by = is meant assignment",
        "background-color: #aabbcc; ink-key: #ffd166",
        "https://example.com:8080/path?page=2&key=name&code=200",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([KEY, f"Bearer {SECRET}", "a=b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["password", "cookie", "api_key", "token", "name", "value", "n", KEY])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(JSON, st.integers(0, 3))
def test_json_stays_json_and_masking_twice_is_masking_once(value: Any, levels: int) -> None:
    redactor = Redactor()
    text = nested(json.dumps(value), levels)
    said = redactor.text(text)
    json.loads(said)
    assert redactor.text(said) == said
    assert KEY not in said
    shown = redactor.value(value)
    assert KEY not in json.dumps(shown)
    assert redactor.value(shown) == shown
    assert shape_of(shown) == shape_of(value)


def shape_of(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape_of(each) for each in value.values()]
    return [shape_of(each) for each in value] if isinstance(value, list) else ""


_PIECES = st.sampled_from(
    [
        "password",
        "cookie",
        ": ",
        "=",
        '"',
        "'",
        "\\",
        "%22",
        "[redacted]",
        KEY,
        "sk-",
        "; ",
        "\n",
        "://u:",
        "@",
        "{",
        "[",
        ",",
    ]
)


@given(st.lists(_PIECES, max_size=25).map("".join))
def test_masking_is_stable_on_any_text(text: str) -> None:
    assert redact(redact(text)) == redact(text)


HOSTILE = [
    "a_", "api_", "eyJ", "eyJaaaaaaaaaa-", "x@", "a@a.", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n", "sk-",
    "sk-a1b2 ", 'password="', "password='\\", "password='''", 'secrets=["', '"secrets":[{"', "cookie:", "cookie: a; ",
    "cookie: a=b; ", "a://a:a", "a://", "\\", "\\\\n", "%25", "&amp;", "cGFzc3dvcmQ9aHVudGVy ", "<password ",
    '"name":"api_key",', "--token ", "password is ", " ", "SG.aaaaaaaaaaa.", "AKIA\n", "Authorization: Digest a=b,",
    "bearer ", "12345678:AA", "key=", 'pass="\\"', "[redacted]", "/aB1", "\\u005c", "\u200b",
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_read_in_one_go(hostile: str) -> None:
    # The test's own time limit is what fails where this backtracks: each takes well under a second.
    text = hostile * (50_000 // len(hostile))
    Redactor(secrets=["hunter2hunter2"]).text(text)


# -- the environment --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("MY_SECRET_TOKEN", "plainword-42", "plainword-42"),
        ("OPENAI_KEY", "abcd", "abcd"),
        ("APP_SECRET", "banana split", "banana split"),
        ("DB_PASSWORD", "hunter", "hunter"),
        ("ADMIN_PASSWORD_2", "x!9q", "x!9q"),
        ("SECRET_KEY_BASE", "zz91-aa", "zz91-aa"),
        ("GITHUB_TOKEN_PROD", "zz91-aa", "zz91-aa"),
        ("PGPASSWORD", "98765432", "98765432"),
        ("DATABASE_URL", "postgres://app:s3cr3t%21@db/app", "s3cr3t!"),
        ("SENTRY_DSN", "https://0123456789abcdef@o1.ingest.sentry.io/1", "0123456789abcdef"),
        ("STORAGE", "AccountName=x;AccountKey=abc123==;Suffix=y", "abc123=="),
        ("GOOGLE_CREDENTIALS", '{"project": "demo-project", "private_key": "abc-def-1"}', "abc-def-1"),
    ],
)
def test_a_variable_with_a_telling_name_is_known(name: str, value: str, secret: str) -> None:
    found = environment_secrets({name: value, "PATH": "/usr/bin", "HOME": "/root"})
    assert secret in found
    assert redact(f"it said {secret}, twice: {json.dumps({'x': secret})}", found).count(REDACTED) == 2
    assert "demo-project" not in found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_TOKEN", "true"),
        ("API_TOKEN", "none"),
        ("API_TOKEN", "abc"),
        ("API_TOKEN", "3600"),
        ("API_TOKEN", "10s"),
        ("SECRET_KEY", "development"),
        ("SECRET_KEY", "/run/secrets/app/key"),
        ("SECRET_KEY", "~/.ssh/id_ed25519"),
        ("SECRET_KEY", "${OTHER}"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.1"),
        ("SECRET_FILE", "secret.json"),
        ("TOKEN_TTL", "hundred"),
        ("MAX_TOKENS", "100000"),
        ("XDG_SESSION_TYPE", "tty-one"),
        ("PWD", "/srv/app"),
        ("PUBLIC_KEY", "abc-def-ghi"),
        ("KEYBOARD", "qwertz-de"),
        ("DATABASE_URL", "postgres://db.example/app"),
        ("EDITOR", "nano-editor"),
    ],
)
def test_a_variable_that_says_nothing_masks_nothing(name: str, value: str) -> None:
    assert environment_secrets({name: value}) == ()


@pytest.mark.parametrize("name", ["7", "0", "7 ", "auth0", "key7", "-7", ""])
def test_any_name_of_a_member_can_be_masked(name: str) -> None:
    assert Redactor().value({name: {"note": f"use {KEY}"}}) == {name: {"note": f"use {REDACTED}"}}
