"""Default access from this machine: the printed URL opens the dashboard, and programs read a token file."""

from __future__ import annotations

import os
import pty
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.cli.processes import Spawn, document, ended, served, until
from tests.cli.test_access import ANYWHERE

ADDRESS = re.compile(rb"The API is served at (http://127\.0\.0\.1:\d+)(/enter\?token=rl_[\w-]{43})\s")
# The user who runs the tests.
AS_ROOT, AS_NOBODY = (
    f"import os; os.geteuid = lambda: {user}; from rolecall.cli.main import main; main()" for user in (0, 65534)
)


def read_until(terminal: int, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
    shown = b""
    while (found := pattern.search(shown)) is None:
        shown += os.read(terminal, 4_096)
    return found


def cookie_of(answer: httpx2.Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize("verb", ["serve", "up"])
def test_address_shown_in_a_terminal_opens_the_dashboard(folder: Path, dsn: str, verb: str) -> None:
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "rolecall.cli", verb]
    environment = os.environ | {"DATABASE_URL": dsn, "ROLECALL_HTTP": "127.0.0.1:0"}
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=follower) as process:
        os.close(follower)
        url, way_in = (part.decode() for part in read_until(leader, ADDRESS).groups())
        with httpx2.Client(base_url=url, timeout=60) as browser:
            sent_on = urlsplit(browser.get(way_in).headers["location"])
            # Browsers resolve the name themselves; this client connects to the address.
            browser.headers["host"] = sent_on.netloc
            entered = browser.get(f"{sent_on.path}?{sent_on.query}")
            page = browser.get(entered.headers["location"], headers={"cookie": cookie_of(entered)})
        process.send_signal(signal.SIGTERM)
        read_until(leader, re.compile(rb"$"))
    os.close(leader)

    assert re.fullmatch(r"rolecall-[a-z2-7]{12}\.localhost:\d+", sent_on.netloc)
    assert (entered.headers["location"], page.status_code) == ("/", 200)
    assert "<h1>Now</h1>" in page.text
    assert process.returncode == 0


def test_log_shows_the_location_of_the_token_and_not_its_value(spawn: Spawn, dsn: str) -> None:
    server = spawn("serve", "--port", "0", "--json", DATABASE_URL=dsn)
    api = served(server)
    until(lambda: api.get("/api/me").json() == {"name": "local", "scope": "admin"}, "the token lets in")
    unknown = httpx2.get(f"{api.url}/api/me", timeout=30)
    server.send_signal(signal.SIGTERM)
    done = ended(server)

    assert unknown.status_code == 401
    assert "local-token" in done.err
    assert api.token not in done.err


def test_token_of_an_embedded_database_is_stored_next_to_it(spawn: Spawn, folder: Path) -> None:
    up = spawn("up", "--http", "127.0.0.1:0", "--json")
    result = document(up)
    file = Path(str(result["token_file"]))

    assert file == folder / "rolecall-data" / "local-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    up.send_signal(signal.SIGTERM)
    assert ended(up).code == 0


def test_restarted_server_uses_the_same_token(spawn: Spawn, dsn: str) -> None:
    tokens = []
    for _ in range(2):
        server = spawn("serve", "--port", "0", "--json", DATABASE_URL=dsn)
        tokens.append(served(server).token)
        server.send_signal(signal.SIGTERM)
        assert ended(server).code == 0

    assert tokens[0] == tokens[1]


def test_curl_command_of_the_guide_is_accepted(spawn: Spawn, dsn: str, folder: Path) -> None:
    server = spawn("serve", "--port", "0", "--json", DATABASE_URL=dsn)
    result = document(server)
    command = f'curl -sS -H "Authorization: Bearer $(cat {result["token_file"]})" {result["http"]}/api/roles'

    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True, timeout=60)

    assert '"name":"sums"' in done.stdout


def test_up_without_a_writable_token_file_skips_the_api_and_reports_it(spawn: Spawn, cli: Run, dsn: str) -> None:
    up = spawn("up", "--app", "shop:app", "--json", DATABASE_URL=dsn, ROLECALL_HTTP="", ROLECALL_TOKEN_FILE="/proc/x")

    assert document(up)["http"] is None
    until(lambda: len(cli("workers", "list", "--json").json) == 1, "its worker is registered")
    up.send_signal(signal.SIGTERM)
    assert "The API is not served: ROLECALL_TOKEN_FILE: this machine's token cannot be stored in" in ended(up).err


@pytest.mark.parametrize("verb", [["serve", "--port", "0"], ["up", "--http", "127.0.0.1:0"]])
def test_explicitly_requested_api_without_a_writable_token_file_is_rejected(
    cli: Run, verb: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLECALL_TOKEN_FILE", "/proc/x")

    done = cli(*verb)

    assert done.code == 2
    assert "ROLECALL_TOKEN_FILE" in done.err


def test_root_cannot_serve_without_authentication(launch: Spawn, dsn: str) -> None:
    """Otherwise every user of the machine could become root through the handlers."""
    words = [sys.executable, "-c", AS_ROOT, "serve", "--port", "0", "--auth", "off"]

    done = ended(launch(*words, DATABASE_URL=dsn))

    assert done.code == 2
    assert "the rights of root" in done.err


def test_serving_without_authentication_prints_a_warning(launch: Spawn, dsn: str) -> None:
    words = [sys.executable, "-c", AS_NOBODY, "serve", "--port", "0", "--auth", "off", "--json"]
    server = launch(*words, DATABASE_URL=dsn)
    result = document(server)

    assert httpx2.get(f"{result['http']}/api/me", timeout=30).json() == {"name": "local", "scope": "admin"}
    assert result["token_file"] is None
    server.send_signal(signal.SIGTERM)
    assert "every user of this machine has full access" in ended(server).err


def test_serving_keys_over_plain_http_on_a_network_prints_a_warning(cli: Run, spawn: Spawn, dsn: str) -> None:
    cli("keys", "create", "deploy", "--scope", "read")
    warnings = []
    for front in ("", "10.0.0.1"):
        server = spawn(
            "serve", "--host", ANYWHERE, "--port", "0", "--json", DATABASE_URL=dsn, ROLECALL_FORWARDED_BY=front
        )
        document(server)
        server.send_signal(signal.SIGTERM)
        warnings.append("in plain HTTP" in ended(server).err)

    assert warnings == [True, False]
