from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.models.redact import MAX_BODY, redacted_body, request_id_of, select_headers
from orbiter.redaction import REDACTED, mask_secrets, redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Incorrect API key provided: sk-proj-AbCdEf0123456789", "AbCdEf0123456789"),
        ("Incorrect API key provided: sk-proj-********************wxyz.", "wxyz"),
        ("key sk-ant-api03-AAAA_bbbb-1234567890", "api03-AAAA"),
        ("key sk-or-v1-0123456789abcdef", "0123456789abcdef"),
        ("gsk_0123456789abcdefABCDEF is wrong", "0123456789abcdef"),
        ("xai-0123456789abcdef is wrong", "0123456789abcdef"),
        ("hf_abcdefghijklmnop", "abcdefghijklmnop"),
        ("API key not valid: AIzaSyD-1234567890abcdefghijklmnopqrstu", "1234567890abcdef"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJzdWIi"),
        ("Authorization: Bearer abc.def-123456", "abc.def"),
        ('{"authorization": "Bearer abcdef123456"}', "abcdef123456"),
        ('{\\"api_key\\": \\"abcdef123456\\"}', "abcdef123456"),
        ("x-api-key: 0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ("https://host/v1/models?key=abcdef123456&alt=sse", "abcdef123456"),
        ("https://user:hunter22@proxy.example:3128/", "hunter22"),
        ("Illegal header value b'Bearer mykey123\\n'", "mykey123"),
    ],
)
def test_what_looks_like_a_key_goes(text: str, secret: str) -> None:
    clean = redact(text)
    assert secret not in clean
    assert REDACTED in clean


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for gpt-4o in organization org_X on tokens per min (TPM): Limit 30000, Used 29000.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The model `claude-sonnet-4-5-20250929` does not exist",
        "max_tokens: 10000 > 4096",
        "tool_use ids were found without tool_result blocks: toolu_01A09q90qw90lq917835lq9",
        "Your task-based-thing is risk-free",
        "Please pass a valid API key.",
        "https://platform.openai.com/account/api-keys.",
    ],
)
def test_what_does_not_stays(text: str) -> None:
    assert redact(text) == text


def test_keys_in_use_go_whatever_they_look_like() -> None:
    assert redact("wrong key: plain-word, really", ["plain-word"]) == f"wrong key: {REDACTED}, really"
    assert redact("abc abc", ["abc"]) == "abc abc", "a secret of three letters would tear words apart"


@given(st.text("abcdef0123456789-_ABC", min_size=20, max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_a_known_key_never_survives(secret: str, before: str, behind: str) -> None:
    assert secret not in redact(before + secret + behind, [secret])


@given(st.text())
def test_redaction_is_stable(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def test_long_bodies_are_cut_and_no_key_is_halved() -> None:
    key = "sk-ant-0123456789abcdefghij"
    body = "x" * (MAX_BODY - 5) + f" {key} " + "y" * MAX_BODY
    cut = redacted_body(body)
    assert "0123456789" not in cut
    assert "sk-a" not in cut
    assert cut.endswith("more characters]")
    assert redacted_body("short") == "short"


def test_only_telling_headers_are_kept() -> None:
    kept = select_headers(
        {
            "Retry-After": "3",
            "X-RateLimit-Reset-Requests": "1s",
            "anthropic-ratelimit-tokens-reset": "2030-01-01T00:00:00Z",
            "Set-Cookie": "session=1",
            "Server": "nginx",
            "Request-Id": "req_1",
            "openai-organization": "my-company",
            "X-Retry-After": "4",
            "x-ms-retry-after-ms": "250",
            "RateLimit": '"default";r=0;t=30',
            "x-rate-limit-reset": "1767225699",
            "ratelimitbysize-reset": "21",
            "x-ms-ratelimit-remaining-tokens": "0",
            "x-operate-limit": "9",
        }
    )
    assert kept == {
        "retry-after": "3",
        "x-ratelimit-reset-requests": "1s",
        "anthropic-ratelimit-tokens-reset": "2030-01-01T00:00:00Z",
        "request-id": "req_1",
        "x-retry-after": "4",
        "x-ms-retry-after-ms": "250",
        "ratelimit": '"default";r=0;t=30',
        "x-rate-limit-reset": "1767225699",
        "ratelimitbysize-reset": "21",
        "x-ms-ratelimit-remaining-tokens": "0",
    }
    assert request_id_of(kept) == "req_1"
    assert request_id_of({"cf-ray": "9", "x-request-id": "7"}) == "7"
    assert request_id_of({}) == ""


@pytest.mark.parametrize(
    ("text", "secrets", "clean"),
    [
        ("PIN 4711 is wrong", ("4711",), f"PIN {REDACTED} is wrong"),
        ("order 147110, 4711ms, x_4711", ("4711",), "order 147110, 4711ms, x_4711"),
        ('{"pin": "0930", "n": 10930}', ("0930",), f'{{"pin": "{REDACTED}", "n": 10930}}'),
        ("a9!, yes: a9!", ("a9!",), "a9!, yes: a9!"),
        ("xq$89!y", ("$89!",), f"xq{REDACTED}y"),
        ("naïveté", ("veté",), "naïveté"),
        ("prehunter2post", ("hunter2",), f"pre{REDACTED}post"),
        ("abcd-ef-ghi", ("abcd", "abcd-ef-ghi"), REDACTED),
        ("db://u:p%40ss%2Fw@h", ("p@ss/w",), f"db://u:{REDACTED}@h"),
        (r'{"sent": "say \"so\" é"}', ('say "so" é',), f'{{"sent": "{REDACTED}"}}'),
        (r'{"sent": "say \"so\" \u00e9"}', ('say "so" é',), f'{{"sent": "{REDACTED}"}}'),
    ],
)
def test_a_short_secret_is_masked_where_it_stands_by_itself_a_long_one_anywhere(
    text: str, secrets: tuple[str, ...], clean: str
) -> None:
    assert mask_secrets(text, secrets) == clean


_SOME = st.text('019é&"/', max_size=12)


@given(_SOME, _SOME.filter(lambda text: len(text) >= 6), _SOME)
def test_nothing_is_left_of_a_long_secret_and_no_text_changes_without_one(before: str, secret: str, after: str) -> None:
    assert secret not in mask_secrets(f"{before}{secret}{after}", (secret,))
    assert mask_secrets(before, (f"{before}{secret}",)) == before
