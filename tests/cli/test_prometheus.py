"""A real Prometheus loads our configuration, scrapes `rolecall up`, and finds the metrics of dashboard and rules."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rolecall import Client
from tests.brokers import free_port
from tests.cli.processes import Served, Spawn, document, until
from tools.servers import program

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
CONFIGURATION = DEPLOY / "prometheus" / "prometheus.yml"
DASHBOARD = DEPLOY / "grafana" / "rolecall.json"
NAME = re.compile(r"\brolecall_\w+")
PARTS = re.compile(r"_(total|bucket|sum|count)$")


@dataclass(frozen=True)
class Scraper:
    """A running Prometheus."""

    url: str

    def ask(self, path: str, **words: str) -> Any:
        answer = httpx2.get(f"{self.url}/api/v1/{path}", params=words, timeout=30).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def value(self, query: str) -> float | None:
        found = self.ask("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else None


def tool(name: str) -> tuple[str, dict[str, str]]:
    found = program(name)
    if found is None:
        pytest.skip(f"{name} is not installed: run ./dev servers")
    path, environment = found
    return str(path), dict(environment)


@contextmanager
def prometheus(folder: Path, worker: str, server: Served) -> Iterator[Scraper]:
    """Run Prometheus with the configuration in `deploy/`, except for addresses and a shorter interval."""
    output = {"127.0.0.1:9100": worker, "127.0.0.1:8321": server.url.removeprefix("http://"), "15s": "500ms"}
    text = CONFIGURATION.read_text()
    for ours, here in output.items():
        assert ours in text
        text = text.replace(ours, here)
    (folder / "prometheus.yml").write_text(text)
    (folder / "rules.yml").write_text(RULES.read_text())
    (folder / "rolecall-key").write_text(server.token)
    path, environment = tool("prometheus")
    port = free_port()
    words = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with subprocess.Popen(
        [path, *words, f"--web.listen-address=127.0.0.1:{port}"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield Scraper(f"http://127.0.0.1:{port}")
        finally:
            process.kill()


def answers(scraper: Scraper) -> bool:
    try:
        return httpx2.get(f"{scraper.url}/-/ready", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def expressions_by_place() -> dict[str, str]:
    """Return the expressions of the dashboard and the rules by their location, with values for Grafana's variables."""
    dashboard = json.loads(DASHBOARD.read_text())
    panels = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in dashboard["panels"]
        for target in panel["targets"]
    }
    return {where: text.replace("$__rate_interval", "1m").replace("$role", ".*") for where, text in panels.items()}


def metrics_address(up: subprocess.Popen[str]) -> str:
    assert up.stderr is not None
    for line in up.stderr:
        if found := re.search(r"Metrics are served at http://(\S+)/metrics", line):
            return found[1]
    raise AssertionError("nothing is served")


def test_alert_rules_are_valid_for_prometheus() -> None:
    path, environment = tool("promtool")
    done = subprocess.run([path, "check", "rules", RULES], env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_scraped_metrics_contain_everything_used_by_dashboard_and_rules(spawn: Spawn, dsn: str, tmp_path: Path) -> None:
    tool("prometheus")
    words = ("up", "--app", "shop:app", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--json")
    up = spawn(*words, DATABASE_URL=dsn)
    result = document(up)
    server = Served(str(result["http"]), Path(str(result["token_file"])).read_text(encoding="ascii").strip())
    with prometheus(tmp_path, metrics_address(up), server) as scraper, Client(dsn) as client:
        task = client.enqueue("add", {"a": 1, "b": 2}, role="sums")
        client.wait(task.id, timeout=60)
        until(lambda: answers(scraper), "Prometheus is ready")
        until(lambda: scraper.value("sum(up)") == 2, "both are scraped")
        completed = 'rolecall_job_attempt_completed_total{role="sums", handler="add"}'
        until(lambda: scraper.value(completed) == 1, "the attempt is counted")
        idle = scraper.value("sum(rolecall_slots_idle)")

        known = {PARTS.sub("", name) for name in scraper.ask("metadata")}
        rules = [rule for group in scraper.ask("rules")["groups"] for rule in group["rules"]]
        expressions = expressions_by_place() | {rule["name"]: rule["query"] for rule in rules}
        lacking = {
            where: name
            for where, text in expressions.items()
            for name in NAME.findall(text)
            if PARTS.sub("", name) not in known
        }
        for text in expressions.values():
            scraper.ask("query", query=text)

    assert lacking == {}
    assert idle == 1
    assert len(rules) == 13
