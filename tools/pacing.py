"""A pytest plugin for `./dev test`: prints the expected duration, the progress, and failures as they happen.

    ./dev test --fast               run the files that fit into three minutes on two cores; lists those left out
    ./dev test --rest               run the other files
    ./dev test --record-durations   run all files, or the given ones, and record them in tests/durations.json

Without --fast, the slowest files run first.
--fast leaves out the files that are not in the record, because it could not keep to its time otherwise.

All processes of pytest-xdist choose the same files, because they read the same record. Only the first one prints.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

from tools.durations import OWN, SHARED, Cost, Durations, by_folder, in_words

# Starting processes and collecting tests take the rest of the three minutes.
FAST_SECONDS = 120.0
REPORT_EVERY = 20.0
MARGIN = 0.02


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pacing")
    group.addoption("--fast", action="store_true", help="run only the files that fit into three minutes on two cores")
    group.addoption("--rest", action="store_true", help="only the files that --fast leaves out")
    group.addoption("--record-durations", action="store_true", help=f"record the run files in {SHARED}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    root = config.rootpath
    shared = Durations.read(root / SHARED)
    files = _test_files(config)
    if config.option.fast:
        config.pluginmanager.register(Fast(root, files, shared.among(files)), "rolecall-fast")
    else:
        config.pluginmanager.register(SlowestFirst(root, shared), "rolecall-order")
        config.option.loadscopereorder = False  # pytest-xdist would run the files with the most tests first
    if config.option.rest:
        config.pluginmanager.register(Rest(root, shared.among(files)), "rolecall-rest")
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, TerminalReporter) and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Pacing(config, reporter, shared), "rolecall-pacing")


def _test_files(config: pytest.Config) -> set[str]:
    root = config.rootpath
    folders = config.getini("testpaths") or ["tests"]
    return {path.relative_to(root).as_posix() for each in folders for path in (root / each).rglob("test_*.py")}


class Fast:
    """Deselects the files that do not fit into the time, and those whose duration is unknown."""

    def __init__(self, root: Path, files: set[str], known: Durations) -> None:
        self.known = known
        self.chosen = known.cheapest(FAST_SECONDS)
        self._unknown = files - known.files.keys()
        self._left_out = {root / name for name in files - self.chosen.files.keys()}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in self._left_out else None

    def summary(self) -> str:
        """Return the deselected files, by folder."""
        chosen = Counter({folder: len(names) for folder, names in by_folder(self.chosen.files).items()})
        parts = [
            f"{folder} ({len(names) - chosen[folder]} of {len(names)})"
            for folder, names in sorted(by_folder(self.known.files).items())
            if len(names) > chosen[folder]
        ]
        tests = self.known.tests() - self.chosen.tests()
        unknown = f", and {len(self._unknown)} files that are not recorded" if self._unknown else ""
        return f"--fast leaves out {tests:,} of {self.known.tests():,} tests, in files of {', '.join(parts)}{unknown}"


class Rest:
    """Leaves out the files that `--fast` runs."""

    def __init__(self, root: Path, known: Durations) -> None:
        self._left_out = {root / name for name in known.cheapest(FAST_SECONDS).files}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in self._left_out else None


class SlowestFirst:
    """Runs the files by their duration, the slowest and those without a known duration first.

    A slow file that begins last would keep one process busy when the others have nothing left to do.
    """

    def __init__(self, root: Path, known: Durations) -> None:
        self._root = root
        self._known = known.files

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=self._seconds, reverse=True)

    def _seconds(self, item: pytest.Item) -> float:
        cost = self._known.get(item.path.relative_to(self._root).as_posix())
        return cost.seconds if cost else math.inf


class Pacing:
    """Prints progress as whole lines, which suit log files, and records how long each file took."""

    def __init__(self, config: pytest.Config, reporter: TerminalReporter, shared: Durations) -> None:
        self._config = config
        self._reporter = reporter
        own = Durations.read(config.rootpath / OWN)
        self._shared = shared
        self._known = own if own.files else shared
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._tests: Counter[str] = Counter()
        self._failed = 0
        self._number = 0
        self._expected: Counter[str] = Counter()
        self._began = self._reported_at = time.monotonic()
        reporter.showfspath = config.get_verbosity() > 0

    def pytest_sessionstart(self) -> None:
        option = self._config.option
        fast = self._config.pluginmanager.get_plugin("rolecall-fast")
        if isinstance(fast, Fast):
            self._say(fast.summary())
        expected = fast.chosen if isinstance(fast, Fast) else self._known.below(self._places())
        if expected.files and not (option.keyword or option.markexpr or option.collectonly):
            cores = os.cpu_count() or 1
            seconds = expected.seconds(cores=cores)
            self._say(f"{expected.tests():,} tests: about {in_words(seconds)} on {cores} cores, if nothing else runs")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._expect(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not self._number:
            self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport, config: pytest.Config) -> object:
        """Print no dots: passed tests are counted, failed ones are listed."""
        if config.get_verbosity() > 0 or not isinstance(report, pytest.TestReport):
            return None
        if report.failed:
            return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")
        if hasattr(report, "wasxfail"):
            return None
        if report.skipped:
            return "skipped", "", "SKIPPED"
        return ("passed", "", "PASSED") if report.when == "call" else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        self._seconds[file] += report.duration
        if report.failed:
            self._failed += 1
            self._say(f"FAILED {report.nodeid} ({report.when}, {report.duration:.1f} s)")
        if report.when == "teardown":
            self._tests[file] += 1
            self._report_progress()

    def _expect(self, ids: Sequence[str]) -> None:
        self._number = len(ids)
        self._expected = Counter(each.partition("::")[0] for each in ids)

    def pytest_keyboard_interrupt(self) -> None:
        """Name the files whose tests have not all run: the gate interrupts a run that takes too long."""
        for name, number in sorted((self._expected - self._tests).items()):
            self._say(f"NOT RUN {name}: {number} of {self._expected[name]} tests")

    def pytest_sessionfinish(self) -> None:
        if self._has_deselected() or self._tests.total() < self._number:
            return
        record = Durations(
            cores=os.cpu_count() or 1,
            processes=self._config.getoption("numprocesses", None) or 1,
            files={name: Cost(number, self._seconds[name]) for name, number in self._tests.items()},
        )
        root = self._config.rootpath
        if not self._places():
            record.write(root / OWN)
        if self._config.option.record_durations:
            kept = self._shared.among(_test_files(self._config))
            (kept.merge(record) if self._places() else record).write(root / SHARED)

    def _places(self) -> list[str]:
        return [] if self._config.args_source is not pytest.Config.ArgsSource.ARGS else list(self._config.args)

    def _has_deselected(self) -> bool:
        option = self._config.option
        one_test = any("::" in place for place in self._places())
        return bool(option.fast or option.rest or option.keyword or option.markexpr or one_test)

    def _report_progress(self) -> None:
        now = time.monotonic()
        done = self._tests.total()
        if now - self._reported_at < REPORT_EVERY or not self._number:
            return
        self._reported_at = now
        share = done / self._number
        # The first tests wait for servers and templates, and are not representative.
        left = in_words((now - self._began) * (1 - share) / share) + " left" if share >= MARGIN else "just begun"
        failed = f"{self._failed} failed, " if self._failed else ""
        self._say(f"{share:4.0%}  {done:,} of {self._number:,} tests, {failed}{left}")

    def _say(self, line: str) -> None:
        self._reporter.ensure_newline()
        self._reporter.write_line(line)
