"""The `storecrawl` command in a process: its output and exit codes."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from storecrawl.cli import run as run_here
from storecrawl.cli.commands import COMMANDS, build
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.platforms.dutchie import UpstreamClient

from apps.storecrawl.tests.menu_samples import MENU_FORMS, OTHER_FORMS, Sample, samples
from rolecall.cli import LateCommand
from rolecall.testing.databases import TestServer, clone

COMMAND = Path(sys.executable).with_name("storecrawl")
WRONG_OPTIONS = [
    ("--stores", "0"),
    ("--stores", "many"),
    ("--failure-rate", "1.5"),
    ("--failure-rate", "nan"),
    ("--platforms", "dutchie,nowhere"),
    ("--step-seconds", "inf"),
    ("--processes", "0"),
    ("--upstream", "nowhere"),
    ("--upstream", "ftp://files.example"),
    ("--database-url", "mongo://db.example"),
    ("--data-dir", "/dev/null/folder"),
    ("--no-such-flag",),
    ("--json",),
]


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *arguments],
        cwd=cwd,
        env={**os.environ, "DATABASE_URL": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
async def menu(tmp_path: Path) -> Path:
    world = UpstreamOptions(stores=1, menu_smallest=20, menu_median=30, menu_largest=40)
    async with LocalUpstream(world) as upstream, UpstreamClient(upstream.url) as client:
        [store] = await client.stores()
        document = (await client.menu(store.id)).document()
    file = tmp_path / "menu.json.gz"
    file.write_bytes(gzip.compress(json.dumps(document).encode()))
    return file


@pytest.mark.parametrize("flags", WRONG_OPTIONS, ids=" ".join)
def test_invalid_option_prints_one_clear_line_and_exits_with_code_2(
    tmp_path: Path,
    flags: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)

    code = run_here(["demo", *flags])

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert re.fullmatch(r"storecrawl: .{10,}\n", shown.err)
    assert list(tmp_path.iterdir()) == []


def test_invalid_database_url_is_not_repeated_as_it_may_contain_a_password(tmp_path: Path) -> None:
    done = run("migrate", cwd=tmp_path, DATABASE_URL="mongo://me:secret@db.example")

    assert (done.returncode, done.stderr) == (2, "storecrawl: DATABASE_URL: not a Postgres URL\n")


def test_unavailable_database_exits_with_code_6(tmp_path: Path) -> None:
    done = run("demo", "--once", cwd=tmp_path, DATABASE_URL=f"postgresql://me@127.0.0.1:{_silent_port()}/db")

    assert done.returncode == 6
    assert re.fullmatch(r"storecrawl: .*Connection refused.*\n", done.stderr)


def test_command_line_without_arguments_shows_its_commands(tmp_path: Path) -> None:
    done = run(cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, "")
    assert {"demo", "generate", "migrate", "normalize", "payloads"} <= set(done.stdout.split())


def test_normalize_shows_the_content_of_a_menu(tmp_path: Path, menu: Path) -> None:
    done = run("normalize", str(menu), "--json", cwd=tmp_path)

    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr, answer["shape"]) == (0, "", "graphql")
    assert len(answer["products"]) == answer["counts"]["products"] >= 20
    assert {"name", "variants", "thc"} <= set(answer["products"][0])


def test_normalize_has_a_text_output(tmp_path: Path, menu: Path) -> None:
    done = run("normalize", str(menu), cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "graphql" in done.stdout


@pytest.mark.parametrize("text", ["", "not json", "{}", "[1, 2]", '{"data": {"somethingElse": []}}'])
def test_normalize_rejects_a_non_menu_file_with_exit_code_2(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)

    done = run("normalize", str(file), "--json", cwd=tmp_path)

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]


def test_normalize_of_a_missing_file_exits_with_code_2(tmp_path: Path) -> None:
    done = run("normalize", "missing.json", cwd=tmp_path)

    assert done.returncode == 2
    assert "missing.json" in done.stderr


@pytest.mark.parametrize("sample", samples(*MENU_FORMS), ids=str)
def test_normalize_keeps_the_products_of_every_form(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / sample.name).write_bytes(sample.read())

    done = run("normalize", sample.name, "--json", cwd=tmp_path)

    counts, number = json.loads(done.stdout)["counts"], len(sample.records)
    assert (done.returncode, counts["records"], counts["products"], counts["refused"]) == (0, number, number, 0)


@pytest.mark.parametrize("sample", samples(*OTHER_FORMS), ids=str)
def test_normalize_counts_refusals(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / sample.name).write_bytes(sample.read())

    done = run("normalize", sample.name, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert re.search("[1-9][0-9]* records, all refused:", " ".join(done.stderr.split()))


def test_migrate_updates_an_empty_database_and_then_does_nothing(tmp_path: Path, postgres_server: TestServer) -> None:
    with clone(postgres_server, "template1") as dsn:
        first = run("migrate", "--database-url", dsn, cwd=tmp_path)
        second = run("migrate", cwd=tmp_path, DATABASE_URL=dsn)
        with psycopg.connect(dsn) as connection:
            tables = connection.execute("select to_regclass('storecrawl.payloads'), to_regclass('rolecall.tasks')")
            assert all(tables.fetchone() or ())

    assert (first.returncode, second.returncode) == (0, 0)
    assert "storecrawl/0001_schema\n" in first.stdout
    assert second.stdout == "nothing to do\n"
    assert "can read the password in --database-url" in first.stderr
    assert second.stderr == ""


def test_migrate_lets_workers_write_the_catalog_and_hides_routes_from_readers(
    tmp_path: Path, postgres_server: TestServer
) -> None:
    may = (
        "select has_table_privilege('rolecall_work', 'storecrawl.products', 'insert'),"
        " has_table_privilege('rolecall_read', 'storecrawl.products', 'select'),"
        " has_table_privilege('rolecall_read', 'storecrawl.routes', 'select'),"
        " has_schema_privilege('rolecall_enqueue', 'storecrawl', 'usage')"
    )
    with clone(postgres_server, "template1") as dsn:
        done = run("migrate", "--roles", cwd=tmp_path, DATABASE_URL=dsn)

        assert done.returncode == 0, done.stderr
        with psycopg.connect(dsn) as connection:
            assert connection.execute(may).fetchone() == (True, True, False, False)


def _silent_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_command_summary_is_the_first_paragraph_of_its_help() -> None:
    real = {name: command.real() for name, command in build().commands.items() if isinstance(command, LateCommand)}

    assert {name: " ".join(command.help.partition("\n\n")[0].split()) for name, command in real.items()} == {
        name: says for name, _, says in COMMANDS
    }


def test_help_imports_neither_driver_nor_server() -> None:
    code = "import sys; from storecrawl.cli import run; run(['--help']); print(*sys.modules, file=sys.stderr)"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert {"psycopg", "fastapi", "pydantic", "PIL", "rich"} & set(done.stderr.split()) == set()


def test_demo_without_its_extra_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "graphql", None)

    assert run_here(["demo", "--once", "--data-dir", str(tmp_path)]) == 2
    assert "pip install 'storecrawl[demo]'" in capsys.readouterr().err
