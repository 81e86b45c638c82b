"""The extra `structlog` of `extra.diff`. `test_recipes.py` runs this in the changed copy."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from importlib import import_module

import pytest

from rolecall import ConfigError, Event, EventType
from rolecall.cli.main import run
from rolecall.extras import EXTRAS

NAME = "structlog"
SINK = "rolecall.telemetry.structlog_sink"


def test_list_of_extras_shows_it() -> None:
    with redirect_stdout(io.StringIO()) as out:
        run(["extras", "--json"])

    assert NAME in {each["name"] for each in json.loads(out.getvalue())}


def test_missing_extra_is_reported_by_the_module_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NAME, None)

    with pytest.raises(ConfigError, match=f"the extra `{NAME}`, for {EXTRAS[NAME].gives}"):
        import_module(SINK)


def test_module_works_with_the_extra(capsys: pytest.CaptureFixture[str]) -> None:
    sink = import_module(SINK).StructlogSink()

    sink.emit(Event(type=EventType.WORKER_STARTED, at=0.0))

    assert "Starting worker" in capsys.readouterr().out
