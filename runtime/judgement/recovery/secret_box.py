"""Sealed answers: secrets encrypted for one process, or for the workers of one workspace.

Decisions and drive meet in the journal alone, so a secret travels through it: sealed with the public key that stands in
the incident. The private key lives in the memory of the process that asked and dies with it; after a restart what is
in the journal can no longer be read, and the question is asked again. Where a workspace has keys of its own
(`runtime.config.workspace_keys`), each worker that has them can read it.

A sealed box from the standard library, since no package of ours brings one: ephemeral Diffie-Hellman in the 2048-bit
MODP group (RFC 3526, section 3), HKDF-SHA256 (RFC 5869), a keystream of HMAC-SHA256 in counter mode, and an
HMAC-SHA256 over what is sent (encrypt, then MAC).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74"
    "020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437"
    "4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF05"
    "98DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB"
    "9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF695581718"
    "3995497CEA956AE515D2261898FA051015728E5A8AACAA68FFFFFFFFFFFFFFFF",
    16,
)
_GENERATOR = 2
_EXPONENT_BITS = 320
_BYTES = 256
_BLOCK = 32
_PRIVATE_TEXT = re.compile(rf"[89a-f][0-9a-f]{{{_EXPONENT_BITS // 4 - 1}}}")


class SealError(ValueError):
    """What was sealed is not for this key, or was changed on its way."""


@dataclass(slots=True, frozen=True)
class KeyPair:
    """A private exponent, and the public key as hexadecimal text."""

    private: int = field(repr=False)
    public: str

    @classmethod
    def generate(cls) -> KeyPair:
        private = secrets.randbits(_EXPONENT_BITS) | (1 << (_EXPONENT_BITS - 1))
        return cls._of(private)

    @classmethod
    def from_text(cls, text: str) -> KeyPair:
        """The pair whose private part `to_text` gave.

        Raises:
            SealError: it is not such a text.
        """
        if not _PRIVATE_TEXT.fullmatch(text):
            raise SealError("this is not a private key")
        return cls._of(int(text, 16))

    def to_text(self) -> str:
        """The private part, to be kept in a file."""
        return f"{self.private:x}"

    @classmethod
    def _of(cls, private: int) -> KeyPair:
        return cls(private, f"{pow(_GENERATOR, private, PRIME):0{2 * _BYTES}x}")


def is_sealed(value: Any) -> bool:
    """Whether a value is what `seal` made."""
    return isinstance(value, Mapping) and isinstance(value.get("sealed"), Mapping)


def seal(public: str, text: str) -> dict[str, Any]:
    """`text` for the holder of the key, as JSON.

    Raises:
        SealError: `public` is not a key.
    """
    ours = KeyPair.generate()
    encrypt, sign = _derive_keys(_number(public), ours.private, public, ours.public)
    body = _xor_keystream(encrypt, text.encode("utf-8", "surrogatepass"))
    tag = hmac.new(sign, body, hashlib.sha256).hexdigest()
    return {"sealed": {"for": public[:16], "key": ours.public, "body": base64.b64encode(body).decode(), "tag": tag}}


def unseal(pair: KeyPair, value: Mapping[str, Any]) -> str:
    """The text that was sealed.

    Raises:
        SealError: it was sealed for another key, or changed.
    """
    try:
        parts = value["sealed"]
        theirs, body, tag = str(parts["key"]), base64.b64decode(str(parts["body"]), validate=True), str(parts["tag"])
    except (KeyError, TypeError, binascii.Error) as exc:
        raise SealError("this is not a sealed answer") from exc
    encrypt, sign = _derive_keys(_number(theirs), pair.private, pair.public, theirs)
    if not hmac.compare_digest(hmac.new(sign, body, hashlib.sha256).hexdigest().encode(), tag.encode()):
        raise SealError("the answer was sealed for another process, or changed since")
    return _xor_keystream(encrypt, body).decode("utf-8", "surrogatepass")


def _number(public: str) -> int:
    try:
        found = int(public, 16)
    except ValueError as exc:
        raise SealError("this is not a key to seal an answer with") from exc
    if not 1 < found < PRIME - 1:
        raise SealError("this is not a key to seal an answer with")
    return found


def _derive_keys(public: int, private: int, receiver: str, sender: str) -> tuple[bytes, bytes]:
    shared = pow(public, private, PRIME).to_bytes(_BYTES, "big")
    extracted = hmac.new(b"orbiter-console sealed answer", shared, hashlib.sha256).digest()
    info = f"{receiver}|{sender}".encode()
    first = hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()
    second = hmac.new(extracted, first + info + b"\x02", hashlib.sha256).digest()
    return first, second


def _xor_keystream(key: bytes, data: bytes) -> bytes:
    """`data` under the keystream; the same again gives it back. A key is used for one message only."""
    made = bytearray()
    for start in range(0, len(data), _BLOCK):
        stream = hmac.new(key, (start // _BLOCK).to_bytes(8, "big"), hashlib.sha256).digest()
        made.extend(a ^ b for a, b in zip(data[start : start + _BLOCK], stream, strict=False))
    return bytes(made)
