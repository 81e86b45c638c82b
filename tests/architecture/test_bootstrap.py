from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools import bootstrap, fetch_uv, indexes, simple_index, uv

INDEX = "https" + "://mirror.example/root"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """A package index on loopback that serves the folder `index` of the test's own."""
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "index"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def pip_conf(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine on which pip alone is configured."""
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {INDEX}\nextra-index-url = file:///a\n  file:///b\n")
    return {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "HOME": str(tmp_path), "PIP_CERT": "/ca.pem"}


def test_pips_settings_are_told_to_uv(pip_conf: dict[str, str]) -> None:
    assert indexes.variables_for_uv(pip_conf) == {
        "UV_DEFAULT_INDEX": INDEX,
        "UV_INDEX": "file:///a file:///b",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_FILE": "/ca.pem",
    }


def test_uvs_own_settings_are_left_alone(pip_conf: dict[str, str]) -> None:
    assert indexes.variables_for_uv(pip_conf | {"UV_DEFAULT_INDEX": "file:///mine"}) == {}


def test_uvs_settings_are_told_to_pip(tmp_path: Path) -> None:
    environment = {"UV_INDEX_URL": INDEX, "HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}

    assert indexes.variables_for_pip(environment) == {"PIP_INDEX_URL": INDEX}


def test_an_index_is_asked_for_the_wheel_of_this_machine(tmp_path: Path, index: str) -> None:
    names = [
        f"uv-1.2.3-py3-none-{libc}_{machine}.whl"
        for libc in ("manylinux_2_17", "musllinux_1_1", "macosx_11_0")
        for machine in ("x86_64", "aarch64", "arm64")
    ]
    page = tmp_path / "index" / "uv" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("".join(f'<a href="{name}#sha256=0">{name}</a>' for name in ["uv-1.2.2-py3-none-any.whl", *names]))
    for name in names:
        (page.parent / name).write_text(name)

    fetched = simple_index.SimpleIndex().download(index, "uv-1.2.3-", tmp_path)

    assert simple_index.is_for_this_machine(fetched.name)
    assert fetched.read_text() == fetched.name


def test_a_wheel_that_the_lock_does_not_name_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.whl", tmp_path / "bad.whl"
    good.write_text("good")
    bad.write_text("bad")
    pin = fetch_uv.Pin(version="1", hashes=frozenset([hashlib.sha256(b"good").hexdigest()]), file=tmp_path)

    assert fetch_uv.checked(good, pin) == good
    with pytest.raises(fetch_uv.NotThisWay, match=r"bad\.whl has the sha256"):
        fetch_uv.checked(bad, pin)


def test_an_error_does_not_tell_the_password_of_an_index() -> None:
    secret = "https" + "://me:hunter2@mirror.example/uv"

    assert "hunter2" not in fetch_uv.told(f"cannot reach {secret}")


@pytest.mark.parametrize(("said", "found"), [("uv 0.13.8 (x86_64)", (0, 13, 8)), ("no number", ())])
def test_a_version_is_read_from_what_uv_says(said: str, found: tuple[int, ...]) -> None:
    assert uv.numbers(said) == found


def test_a_tree_that_was_moved_is_not_up_to_date(tmp_path: Path) -> None:
    for name in bootstrap.INPUTS:
        (tmp_path / "new" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / name).write_text("same")
    bin_folder = tmp_path / "new" / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text("")
    bootstrap.stamp_of(tmp_path / "new").write_text(bootstrap.wanted_stamp(tmp_path / "new"))
    assert bootstrap.is_current(tmp_path / "new")

    (tmp_path / "new").rename(tmp_path / "moved")

    assert not bootstrap.is_current(tmp_path / "moved")
