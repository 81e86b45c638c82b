"""What a browser keeps in place of this machine's token: until when it lets in, signed with the token."""

from __future__ import annotations

import hashlib
import hmac
import time

__all__ = ["LocalToken"]


class LocalToken:
    """The token of this machine, and what is made of it; a new token ends all that was made of the old one."""

    def __init__(self, token: str, seconds: int) -> None:
        self._token = token.encode("ascii")
        self.seconds = seconds

    def fits(self, shown: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(_bytes(shown), self._token)

    def stamp(self) -> str:
        """Make what a browser keeps; it lets in for `seconds`."""
        return self._signed(str(int(time.time()) + self.seconds))

    def lets_in(self, kept: str) -> bool:
        """Whether a browser may come in with what it has kept."""
        until = kept.partition(".")[0]
        genuine = hmac.compare_digest(_bytes(kept), _bytes(self._signed(until)))
        return genuine and int(until) > time.time()

    def _signed(self, until: str) -> str:
        return f"{until}.{hmac.digest(self._token, _bytes(until), hashlib.sha256).hex()}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
