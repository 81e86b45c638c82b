"""Runs all checks of the project, one on each core, even if some fail: a line per check, followed by its findings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tools.offences import ROOT

CHECKS = {
    "lint": ["ruff", "check", "--quiet", "--output-format=concise"],
    "format": ["ruff", "format", "--check", "--quiet", "--output-format=concise"],
    "types": ["mypy", "--no-error-summary"],
    "floors": ["lint-imports", "--no-logo"],
    "sizes": ["python", "-m", "tools.sizes"],
    "sql": ["python", "-m", "tools.sql_headers"],
    "house": ["python", "-m", "tools.house"],
    "prose": ["python", "-m", "tools.prose"],
    "words": ["python", "-m", "tools.screen_words"],
    "spelling": ["codespell"],
}
FIXES = {
    "lint": ["ruff", "check", "--quiet", "--fix-only"],
    "format": ["ruff", "format", "--quiet"],
}


def main(words: list[str]) -> int:
    """Run the named checks, or all; with `--fix` those that can fix their findings."""
    steps = FIXES if "--fix" in words else CHECKS
    named = [word for word in words if word != "--fix"]
    if unknown := [word for word in named if word not in steps]:
        print(f"check: no step named {', '.join(unknown)}; the steps are {', '.join(steps)}", file=sys.stderr)
        return 2
    chosen = named or list(steps)
    with ThreadPoolExecutor(1 if steps is FIXES else os.cpu_count()) as pool:
        passed = list(pool.map(lambda name: passes(name, steps[name]), chosen))
    failed = [name for name, is_fine in zip(chosen, passed, strict=True) if not is_fine]
    print(f"check: failed in {', '.join(failed)}" if failed else "check: all passed")
    return 1 if failed else 0


def passes(name: str, command: list[str]) -> bool:
    started = time.monotonic()
    program = [str(ROOT / ".venv" / "bin" / command[0]), *command[1:]]
    done = subprocess.run(program, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    passed = done.returncode == 0
    findings = "" if passed else f"{done.stdout.rstrip()}\n"
    line = f"{'ok  ' if passed else 'FAIL'} {name:<8} {time.monotonic() - started:5.1f} s\n"
    sys.stdout.write(line + findings)
    sys.stdout.flush()
    return passed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
