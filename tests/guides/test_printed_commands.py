"""The README and the guides work as printed with only the published packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rolecall.db.connect import connect
from rolecall.testing import url_of
from tests.durability import durable
from tests.guides.blocks import GUIDES, README, blocks_in
from tests.guides.not_run import NOT_RUN
from tests.guides.reader import PATH, Reader, free_ports
from tests.packaging.installing import TO_DEVELOP, Environment, build_wheels, made_once

__all__ = ["durable"]

DOCUMENTS = {path.name: path for path in (README, *sorted(GUIDES.glob("*.md")))}
# The README includes the installation; guides assume that it has been done.
BY_ITSELF = README.name
EVERYTHING = ("rolecall[embedded,web]", "rolecall-import", "storecrawl")
ASKS_THE_DOCTOR = ("capacity.md",)
USUAL_PORTS = ("8321", "9000", "8000", "8001")


def a_worker_of_resize(reader: Reader) -> None:
    """Declare `resize`, and register worker 1 for it."""
    assert reader.database is not None
    with connect(reader.database, "scene") as connection:
        connection.execute("select rolecall.make_partitions()")
        connection.execute('select rolecall.declare(\'[{"name": "resize"}]\')')
        connection.execute("select rolecall.register_worker('w', '{}', '{resize}', 1, 'h', 1, '0')")
        # The doctor may look more than a minute later, on a busy machine.
        connection.execute("update rolecall.workers set heartbeat_at = heartbeat_at + interval '1 hour'")


def the_readers_shop(reader: Reader) -> None:
    """Write the files of the README, which this guide assumes."""
    for block in blocks_in(README.read_text("utf-8")):
        if block.file is not None:
            (reader.folder / block.file).write_text(block.code)


def the_crawlers_tables(reader: Reader) -> None:
    """Create the crawler's tables, which this guide assumes."""
    reader.run("storecrawl migrate")


def the_error_of_the_guide(reader: Reader) -> None:
    """Store the error group whose id the guide prints."""
    assert reader.database is not None
    with connect(reader.database, "scene") as connection:
        connection.execute(
            "insert into rolecall.error_groups (id, handler, type, message, state_at, opened_at, first_at, last_at,"
            " failed, retried, sample_id) select 2876362103166778, 'charge', 'Declined', 'card * was declined',"
            " now(), now(), now(), now(), 1, 0, 1"
        )


def the_bulk_action_of_the_guide(reader: Reader) -> None:
    """Store the bulk action whose id the guide prints."""
    assert reader.database is not None
    with connect(reader.database, "scene") as connection:
        connection.execute("select setval('rolecall.bulk_actions_id_seq', 10)")


SCENES: dict[str, Callable[[Reader], None]] = {
    "capacity.md": a_worker_of_resize,
    "bulk-actions.md": the_bulk_action_of_the_guide,
    "errors.md": the_error_of_the_guide,
    "serve.md": the_readers_shop,
    "egress.md": the_crawlers_tables,
    "lake.md": the_crawlers_tables,
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with all packages, made once for all processes of this run."""

    def make(folder: Path) -> None:
        environment = environment_in(folder)
        build_wheels(environment.wheels)
        environment.make()
        environment.install(EVERYTHING)

    return environment_in(made_once(tmp_path_factory.getbasetemp(), "installed", make))


def environment_in(folder: Path) -> Environment:
    """Return the environment of a folder, with the wheels next to it."""
    return Environment(folder / "venv", folder / "wheels", locked=TO_DEVELOP)


@pytest.fixture
def reader(request: pytest.FixtureRequest, tmp_path: Path, database: str, installed: Environment) -> Iterator[Reader]:
    """A reader in an empty folder, with the environment and the database that the document assumes."""
    document: str = request.param
    if document in ASKS_THE_DOCTOR:
        request.getfixturevalue("durable")
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    environment = installed
    if document == BY_ITSELF:
        environment = Environment(tmp_path / "venv", installed.wheels)
        environment.make()
    variables = {"PATH": f"{environment.programs}:{PATH}", "HOME": str(home), "LANG": "C.UTF-8"}
    if document != BY_ITSELF:
        variables |= {"DATABASE_URL": url_of(database)}
    reader = Reader(
        document=document,
        folder=folder,
        environment=environment,
        variables=variables,
        database=None if document == BY_ITSELF else database,
    )
    yield reader
    reader.leave()


@pytest.mark.parametrize(
    ("reader", "document"), [(name, name) for name in DOCUMENTS], indirect=["reader"], ids=DOCUMENTS
)
def test_printed_commands_work_as_described(reader: Reader, document: str) -> None:
    text = DOCUMENTS[document].read_text("utf-8")
    ports = free_ports(len(USUAL_PORTS))
    for usual, port in zip(USUAL_PORTS, ports, strict=True):
        text = text.replace(usual, str(port))
    reader.variables = {**reader.variables, "ROLECALL_HTTP": f"127.0.0.1:{ports[0]}"}
    if scene := SCENES.get(document):
        scene(reader)

    reader.follow(blocks_in(text))


def test_every_excluded_command_is_still_printed() -> None:
    printed = {
        name: [line for block in blocks_in(path.read_text("utf-8")) for line in (block.code, *block.code.splitlines())]
        for name, path in DOCUMENTS.items()
    }

    stale = [
        (document, beginning)
        for document, excused in NOT_RUN.items()
        for beginning in excused
        if not any(line.startswith(beginning) for line in printed[document])
    ]

    assert stale == []
