"""The state of a folder's simulated world."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from storecrawl.demo.options import DemoOptions
from storecrawl.demo.state import FILE, KEEP_SECONDS, FolderState, load_state, save_state
from storecrawl.demo.upstream.clock import SimulatedClock

from rolecall import ConfigError

NOW = 1_800_000_000.0
YEAR = 31_536_000.0


@pytest.fixture
def options(tmp_path: Path) -> DemoOptions:
    return DemoOptions(data_dir=tmp_path, stores=7, seed=3, step_seconds=100.0)


def test_new_folder_gets_the_requested_world(tmp_path: Path, options: DemoOptions) -> None:
    state = load_state(tmp_path, options, NOW)

    assert (state.stores, state.seed, state.step, state.since) == (7, 3, 0.0, NOW)


def test_existing_folder_keeps_its_world_by_default(tmp_path: Path, options: DemoOptions) -> None:
    load_state(tmp_path, options, NOW)

    state = load_state(tmp_path, DemoOptions(data_dir=tmp_path), NOW)

    assert (state.stores, state.seed) == (7, 3)


def test_simulated_time_advances_while_the_demo_runs(tmp_path: Path, options: DemoOptions) -> None:
    assert load_state(tmp_path, options, NOW).at(NOW + 250.0).step == 2.5


def test_simulated_time_pauses_between_demos(tmp_path: Path, options: DemoOptions) -> None:
    save_state(tmp_path, load_state(tmp_path, options, NOW).at(NOW + 250.0))

    state = load_state(tmp_path, options, NOW + YEAR)

    assert state.step == 2.5 + KEEP_SECONDS / 100.0


def test_changed_pace_does_not_move_the_simulated_time(tmp_path: Path, options: DemoOptions) -> None:
    save_state(tmp_path, replace(load_state(tmp_path, options, NOW), step=4.0, step_seconds=0.0))

    state = load_state(tmp_path, replace(options, step_seconds=5.0), NOW)

    assert state.at(NOW + 10.0).step == 6.0


@pytest.mark.parametrize(("once", "later", "steps"), [(True, 3_600.0, 4), (False, 3_600.0, 40), (False, 0.0, 4)])
def test_single_cycle_sees_one_step_of_the_upstream(
    options: DemoOptions, once: bool, later: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = FolderState(port=1, stores=7, seed=3, step=4.3, since=NOW, step_seconds=0.0 if once else 100.0)
    flags = state.flags()
    pace, epoch = flags["--step-seconds"], flags["--epoch"]
    assert isinstance(pace, float)
    assert isinstance(epoch, float)
    monkeypatch.setattr("time.time", lambda: NOW + later + 0.001)

    assert SimulatedClock(step_seconds=pace, epoch=epoch).step == steps


def test_port_taken_by_another_program_is_replaced(tmp_path: Path, options: DemoOptions) -> None:
    before = load_state(tmp_path, options, NOW).port
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", before))
        squatter.listen()

        assert load_state(tmp_path, options, NOW).port != before


def test_damaged_memory_file_is_named(tmp_path: Path, options: DemoOptions) -> None:
    (tmp_path / FILE).write_text('{"port": ')

    with pytest.raises(ConfigError, match="is damaged; remove it"):
        load_state(tmp_path, options, NOW)
