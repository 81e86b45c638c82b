"""Access modes by address and their safety checks."""

from __future__ import annotations

import pytest

from rolecall.config import AuthMode
from rolecall.model.errors import ConfigError
from rolecall.service.access import mode_for

KEYS, TOKEN, OFF = AuthMode.keys, AuthMode.token, AuthMode.off


@pytest.mark.parametrize(
    ("requested", "private", "as_root", "mode"),
    [
        (None, True, False, TOKEN),
        (None, True, True, TOKEN),
        (None, False, False, KEYS),
        (None, False, True, KEYS),
        (KEYS, True, True, KEYS),
        (KEYS, False, True, KEYS),
        (TOKEN, True, True, TOKEN),
        (OFF, True, False, OFF),
    ],
)
def test_default_mode_is_token_on_this_machine_and_keys_elsewhere(
    requested: AuthMode | None, private: bool, as_root: bool, mode: AuthMode
) -> None:
    assert mode_for(requested, private=private, as_root=as_root) is mode


@pytest.mark.parametrize(
    ("requested", "private", "as_root", "why"),
    [
        (OFF, False, False, "admit all clients that can reach this address"),
        (TOKEN, False, False, "127.0.0.1 and ::1 only"),
        (OFF, True, True, "every account of this machine the rights of root"),
    ],
)
def test_insecure_mode_is_rejected(requested: AuthMode, private: bool, as_root: bool, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        mode_for(requested, private=private, as_root=as_root)
