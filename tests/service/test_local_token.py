"""The local token: only its owner can read the file, and all servers with the same file share the token."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rolecall.model.errors import ConfigError
from rolecall.service.access import ensure_token


def test_token_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "state" / "rolecall" / "local-token"
    before = os.umask(0)
    try:
        made = ensure_token(file)
    finally:
        os.umask(before)

    assert ensure_token(file) == made
    assert file.read_text() == f"{made}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["local-token"]


def test_token_has_256_random_bits(tmp_path: Path) -> None:
    tokens = {ensure_token(tmp_path / str(number)) for number in range(20)}

    assert len(tokens) == 20
    assert {len(token) for token in tokens} == {len("rl_") + 43}


def test_servers_that_start_simultaneously_share_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as starting:
        kept = list(starting.map(ensure_token, [tmp_path / "token"] * 200))

    assert len(set(kept)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_token_file_readable_by_others_is_rejected(tmp_path: Path, mode: int) -> None:
    ensure_token(tmp_path / "token")
    (tmp_path / "token").chmod(mode)

    with pytest.raises(ConfigError, match="delete it"):
        ensure_token(tmp_path / "token")


def test_symbolic_link_is_rejected(tmp_path: Path) -> None:
    ensure_token(tmp_path / "token")
    (tmp_path / "link").symlink_to(tmp_path / "token")

    with pytest.raises(ConfigError, match="cannot be stored"):
        ensure_token(tmp_path / "link")


@pytest.mark.parametrize("text", ["", "\n", "password\n", "rl_short\n"])
def test_file_without_a_valid_token_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    (tmp_path / "token").chmod(0o600)

    with pytest.raises(ConfigError, match="contains no token") as refused:
        ensure_token(tmp_path / "token")

    assert "ROLECALL_TOKEN_FILE" in str(refused.value)


def test_unwritable_location_is_rejected_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="cannot be stored") as refused:
        ensure_token(tmp_path / "file" / "token")

    assert "--auth keys" in str(refused.value)
