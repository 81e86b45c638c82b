"""`rolecall doctor`: problems of the server and the workers, for people and for monitoring."""

from __future__ import annotations

from typer import Exit

from rolecall.cli.checks import Checked, checks_of
from rolecall.cli.output import print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.model.operator.doctor import Diagnosis, Verdict

COLUMNS = ("severity", "check", "problem", "since", "what to do")
CODES = {Verdict.FINE: 0, Verdict.WARNING: 1, Verdict.TROUBLE: 2}


def doctor(shell: Shell, *, app: Checked = None) -> None:
    diagnosis = shell.call(lambda services: services.doctor.examine(), checks_of(app))
    shell.show(diagnosis, lambda: _print(diagnosis))
    if code := CODES[diagnosis.verdict]:
        raise Exit(code)


def _print(diagnosis: Diagnosis) -> None:
    rows = [(found.severity, found.check, found.problem, found.since, found.advice) for found in diagnosis.findings]
    if rows:
        print_table(COLUMNS, rows, "")
    else:
        print_line(f"no problems: {len(diagnosis.checks)} checks")
    if diagnosis.notifications:
        print_line(f"workers are notified by {diagnosis.notifications}")
