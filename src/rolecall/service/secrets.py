"""Secrets that stand for somebody: made of 256 random bits, kept only as digests."""

from __future__ import annotations

import hashlib
import secrets

__all__ = ["digest_of", "new_secret"]

BYTES = 32


def new_secret(kind: str) -> str:
    """Return a secret that begins with its kind, so that a scanner for leaked ones knows it: `rk_...`."""
    return f"{kind}_{secrets.token_urlsafe(BYTES)}"


def digest_of(text: str) -> bytes:
    """Return what is stored in place of a text. Fast, as nobody guesses 256 bits; passwords need another one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
