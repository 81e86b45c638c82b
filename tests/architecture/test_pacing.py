"""`./dev test` prints the expected time, the progress and failures as they happen; `--fast` keeps to its time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rolecall.embedded.process import wait_until
from tools.durations import OWN, SHARED, Cost, Durations, by_folder
from tools.offences import ROOT
from tools.pacing import FAST_SECONDS

GOOD = "def test_good(): pass\n"
BAD = "def test_bad(): assert not 'bad'\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two folders of tests, with one failing file in the first. The duration of each file is known."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for name, text in {"a/test_bad": BAD, "a/test_slow": GOOD, "b/test_slow": GOOD, "b/test_slower": GOOD}.items():
        path = tmp_path / "tests" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    costs = {"a/test_bad": 1.0, "a/test_slow": 900.0, "b/test_slow": 12.0, "b/test_slower": 600.0}
    files = {f"tests/{name}.py": Cost(1, seconds) for name, seconds in costs.items()}
    Durations(cores=os.cpu_count() or 1, processes=3, files=files).write(tmp_path / SHARED)
    return tmp_path


def start(project: Path, *words: str, processes: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "tools.pacing", "--color=no", "-n", str(processes)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    return subprocess.Popen(
        [*command, *words], cwd=project, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def output_of(project: Path, *words: str, processes: int = 0) -> str:
    with start(project, *words, processes=processes) as process:
        return process.communicate()[0]


@pytest.mark.parametrize("processes", [0, 2])
def test_run_announces_its_duration_and_names_failures_immediately(project: Path, processes: int) -> None:
    at_once, _, _ = output_of(project, processes=processes).partition("= FAILURES =")

    start, failed, _ = at_once.partition("FAILED tests/a/test_bad.py::test_bad (call, ")
    assert "4 tests: about 9 minutes on " in start
    assert failed


def test_file_duration_is_predicted_from_its_record(project: Path) -> None:
    assert "1 tests: about 4 minutes on " in output_of(project, "tests/b/test_slower.py")


@pytest.mark.parametrize("processes", [0, 2])
def test_fast_run_omits_tests_beyond_its_time_and_reports_that(project: Path, processes: int) -> None:
    result = output_of(project, "--fast", processes=processes)

    assert "--fast leaves out 2 of 4 tests, in files of tests/a (1 of 2), tests/b (1 of 2)\n" in result
    assert "1 failed, 1 passed" in result


def test_fast_run_omits_unmeasured_files_and_reports_their_number(project: Path) -> None:
    (project / "tests" / "b" / "test_new.py").write_text(GOOD)

    result = output_of(project, "--fast")

    assert "tests/b (1 of 2), and 1 files that are not recorded\n" in result
    assert "1 failed, 1 passed" in result


def test_slowest_files_run_first(project: Path) -> None:
    output = output_of(project, "-v")

    order = [line.partition("::")[0] for line in output.splitlines() if " PASSED" in line or " FAILED" in line]
    assert order[:4] == [f"tests/{name}.py" for name in ("a/test_slow", "b/test_slower", "b/test_slow", "a/test_bad")]


def test_rest_runs_the_files_that_a_fast_run_leaves_out_slowest_first(project: Path) -> None:
    (project / "tests" / "b" / "test_new.py").write_text(GOOD)
    output = output_of(project, "--rest", "-v")

    order = [line.partition("::")[0] for line in output.splitlines() if " PASSED" in line]
    assert order == ["tests/b/test_new.py", "tests/a/test_slow.py", "tests/b/test_slower.py"]


@pytest.mark.parametrize("processes", [0, 2])
def test_interrupted_run_names_the_files_that_have_not_run(project: Path, processes: int) -> None:
    (project / "tests" / "a" / "test_bad.py").write_text(
        "import pathlib, time\ndef test_endless(): pathlib.Path('begun').touch(); time.sleep(600)\n"
    )
    with start(project, processes=processes) as process:
        assert wait_until((project / "begun").exists, 60)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)

    assert "NOT RUN tests/a/test_bad.py: 1 of 1 tests" in rest


def test_full_run_records_its_durations(project: Path) -> None:
    output_of(project)

    own = Durations.read(project / OWN)
    assert own.tests() == 4
    assert own.seconds(cores=own.cores) < Durations.read(project / SHARED).seconds(cores=own.cores)
    assert "4 tests: about 30 seconds on " in output_of(project)


@pytest.mark.parametrize("word", ["tests/a", "--fast", "-x"])
def test_partial_run_records_nothing(project: Path, word: str) -> None:
    # The slowest file runs first.
    (project / "tests" / "a" / "test_slow.py").write_text(BAD)

    output_of(project, word)

    assert not (project / OWN).exists()


def test_shared_record_is_written_on_request(project: Path) -> None:
    output_of(project, "--record-durations")

    assert Durations.read(project / SHARED) == Durations.read(project / OWN)


def test_durations_of_some_files_are_merged_into_the_shared_record(project: Path) -> None:
    (project / "tests" / "b" / "test_new.py").write_text(GOOD)
    (project / "tests" / "a" / "test_slow.py").unlink()
    before = Durations.read(project / SHARED).files

    output_of(project, "--record-durations", "tests/b/test_new.py", "tests/b/test_slow.py")

    after = Durations.read(project / SHARED).files
    assert after.keys() == {f"tests/{name}.py" for name in ("a/test_bad", "b/test_new", "b/test_slow", "b/test_slower")}
    assert after["tests/b/test_slow.py"].seconds < before["tests/b/test_slow.py"].seconds
    assert after["tests/b/test_slower.py"] == before["tests/b/test_slower.py"]
    assert not (project / OWN).exists()


def test_part_of_a_file_is_not_recorded(project: Path) -> None:
    before = (project / SHARED).read_text()

    output_of(project, "--record-durations", "tests/b/test_slow.py::test_good")

    assert (project / SHARED).read_text() == before


def test_damaged_record_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text("{")

    assert Durations.read(tmp_path / "record.json") == Durations()


def test_folder_without_a_cheap_file_is_left_out_of_a_fast_run() -> None:
    cheap = {"tests/a/test_cheap.py": Cost(1, 0.1)}
    known = Durations(files={**cheap, "tests/b/test_installs.py": Cost(1, 20.0)})

    assert known.cheapest(FAST_SECONDS).files == cheap


def test_fast_run_of_this_project_takes_three_minutes_and_covers_each_folder() -> None:
    known = Durations.read(ROOT / SHARED)
    fast = known.cheapest(FAST_SECONDS)

    assert known.cores == 2
    assert fast.seconds(cores=2) <= FAST_SECONDS
    # These files run whole projects, type checkers and servers.
    slow = {f"tests/{name}" for name in ("django", "examples", "hosting", "recipes", "types")}
    assert by_folder(known.files).keys() - by_folder(fast.files).keys() <= slow


def test_each_recorded_file_of_this_project_exists() -> None:
    gone = [name for name in Durations.read(ROOT / SHARED).files if not (ROOT / name).is_file()]

    assert gone == [], "./dev test --record-durations PATH drops these"


def test_almost_all_test_files_of_this_project_have_recorded_durations() -> None:
    known = Durations.read(ROOT / SHARED).files
    files = {
        path.relative_to(ROOT).as_posix()
        for tests in (
            ROOT / "tests",
            ROOT / "apps" / "storecrawl" / "tests",
            ROOT / "packages" / "rolecall-import" / "tests",
        )
        for path in tests.rglob("test_*.py")
    }

    missing = sorted(files - known.keys())
    assert len(missing) <= len(files) / 20, f"./dev test --record-durations {' '.join(missing)}"
