"""`storecrawl webhooks`."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from standardwebhooks import Webhook as Verifier
from storecrawl.cli import run

Webhooks = Callable[..., tuple[int, str, str]]


@pytest.fixture
def webhooks(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Webhooks:
    monkeypatch.setenv("DATABASE_URL", database)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["webhooks", *arguments])
        outputs = capsys.readouterr()
        return code, outputs.out, outputs.err

    return call


def test_webhook_can_be_added_listed_and_removed(webhooks: Webhooks) -> None:
    filters = ("--kind", "price_changed", "--kind", "store_dark", "--brand", "Wana Gummies", "--at-once", "7")
    code, out, _ = webhooks("add", "https://me:pw@hooks.example.org/canary", *filters, "--json")
    [listed] = json.loads(webhooks("list", "--json")[1])

    assert (code, json.loads(out)["id"]) == (0, listed["id"])
    assert (listed["receiver"], listed["kinds"], listed["brands"], listed["at_once"]) == (
        "hooks.example.org",
        ["price_changed", "store_dark"],
        ["wana-gummies"],
        7,
    )
    assert "canary" not in webhooks("list")[1]
    assert webhooks("remove", str(listed["id"]))[0] == 0
    assert "There is no webhook" in webhooks("list")[1]


def test_test_message_is_signed_and_its_answer_shown(webhooks: Webhooks) -> None:
    posts: list[tuple[dict[str, str], bytes]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            posts.append((headers, self.rfile.read(int(headers["content-length"]))))
            self.send_response(204 if len(posts) == 1 else 403)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        added = json.loads(webhooks("add", f"http://127.0.0.1:{server.server_port}/hook", "--json")[1])
        accepted, refused = webhooks("test", str(added["id"])), webhooks("test", str(added["id"]))
        server.shutdown()

    assert (accepted[0], refused[0]) == (0, 1)
    assert "the receiver answered 403" in refused[1]
    assert Verifier(added["secret"]).verify(posts[0][1], posts[0][0])["type"] == "catalog.test"


def test_invalid_or_known_url_is_refused(webhooks: Webhooks) -> None:
    assert webhooks("add", "ftp://example.org")[0] == 2
    assert [webhooks("add", "https://example.org")[0] for _ in range(2)] == [0, 1]
