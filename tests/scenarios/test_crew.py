from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rolecall.embedded.process import wait_until
from tests.scenarios.chaos.member import REPOSITORY, Member

PATIENCE = 40.0
# A thread's trace function is called at each line that it comes to, and so is the handler here.
STRUCK_AT_EVERY_LINE = """\
import signal, sys
from tests.scenarios.chaos.stop import StopSignal

def strike(*_):
    signal.raise_signal(signal.SIGTERM)
    return strike

stop = StopSignal()
assert not stop.comes_within(0)
sys.settrace(strike)
assert stop.comes_within(0)
"""


@contextmanager
def stuck(how: str, folder: Path) -> Iterator[Member]:
    member = Member.start("stuck", folder, "tests.scenarios.stuck", [how])
    try:
        assert wait_until(lambda: "ready" in (folder / "stuck.log").read_text(), PATIENCE)
        yield member
    finally:
        member.end()


def test_stop_signal_at_any_line_never_blocks_the_shutdown() -> None:
    subprocess.run([sys.executable, "-c", STRUCK_AT_EVERY_LINE], cwd=REPOSITORY, timeout=PATIENCE, check=True)


@pytest.mark.parametrize(("how", "where"), [("thread", "in wait_in_a_thread"), ("task", "in never_ending")])
def test_process_that_does_not_stop_reports_its_location(how: str, where: str, tmp_path: Path) -> None:
    with stuck(how, tmp_path) as member:
        member.process.terminate()

        assert not member.stops_within(0.2)
        assert wait_until(lambda: where in member.read_stacks(), PATIENCE)
