"""`rolecall import` reads other systems' code, prints its equivalent, and writes files only on request."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tools.offences import ROOT

SAMPLES = ROOT / "packages" / "rolecall-import" / "tests" / "samples"


@pytest.mark.parametrize("system", ["celery", "procrastinate", "rq"])
def test_printed_module_is_python_with_declarations(bare: Run, system: str) -> None:
    answer = bare("import", system, SAMPLES / system, "--name", "moved")

    names: dict[str, object] = {"__name__": "printed"}
    exec(compile(answer.out, "printed.py", "exec"), names)  # noqa: S102 - what we printed
    assert answer.code == 0
    assert 'App("moved")' in answer.out
    assert answer.err.startswith(f"{system}: ")


def test_json_output_lists_all_findings(bare: Run) -> None:
    found = bare("import", "rq", SAMPLES / "rq", "--json").json

    assert [task["name"] for task in found["tasks"]][:2] == ["mailer.jobs.send", "mailer.jobs.count_words"]
    assert found["calls"][0]["place"] == {"file": "mailer/web.py", "line": 12}
    assert found["module"].startswith('"""The declarations for RQ')


def test_unreadable_file_is_reported_and_the_others_are_read(bare: Run, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "broken.py").write_text("def (:\n")
    (code / "latin.py").write_bytes(b"name = '\xe9'\n")
    (code / "tasks.py").write_text("from celery import shared_task\n@shared_task\ndef one(): ...\n")

    answer = bare("import", "celery", code)

    assert answer.code == 1
    assert "def one()" in answer.out
    assert "could not read broken.py: line 1: invalid syntax" in answer.err
    assert "could not read latin.py: " in answer.err


def test_code_without_findings_produces_an_empty_app(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('never run')\n")

    answer = bare("import", "celery", tmp_path / "plain.py")

    assert (answer.code, answer.err) == (0, "celery: 1 file, 0 tasks, 0 schedules, 0 calls, 0 without an equivalent\n")
    compile(answer.out, "printed.py", "exec")


def test_unknown_system_or_path_is_rejected(bare: Run, tmp_path: Path) -> None:
    assert bare("import", "huey", tmp_path).err == "rolecall: SYSTEM: 'huey' is not one of celery, procrastinate, rq\n"

    nowhere = bare("import", "rq", tmp_path / "nowhere")
    assert nowhere.code == 2
    assert nowhere.err == f"rolecall: PATH: there is no {str(tmp_path / 'nowhere')!r}\n"


def test_output_file_is_written_only_if_it_does_not_exist(bare: Run, tmp_path: Path) -> None:
    out = tmp_path / "moved.py"

    written = bare("import", "rq", SAMPLES / "rq", "--out", out)
    again = bare("import", "rq", SAMPLES / "rq", "--out", out)

    assert written.code == 0
    assert written.out.startswith("rq: 3 files, 4 tasks")
    assert "mailer.jobs.send" in out.read_text()
    assert again.err == f"rolecall: --out: {str(out)!r} already exists\n"


def test_missing_package_is_reported_with_the_command_that_installs_it(
    bare: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "rolecall_import", None)

    answer = bare("import", "celery", tmp_path)

    assert (answer.code, answer.err) == (
        2,
        "rolecall: rolecall-import: not installed; run: pip install rolecall-import\n",
    )


def test_check_lists_rejected_code_and_exits_with_1(bare: Run) -> None:
    answer = bare("import", "celery", SAMPLES / "celery", "--check")

    assert answer.code == 1
    assert (
        "shop/limits.py:9: polite: rate_limit='10/m'\n    task 'shop.limits.polite': rate_limit= has no" in answer.out
    )
    assert answer.out.endswith("rolecall.celery rejects 4 places\n")


def test_check_of_accepted_code_exits_with_0(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("from celery import shared_task\n@shared_task\ndef one(): ...\n")

    answer = bare("import", "celery", tmp_path, "--check")

    assert (answer.code, answer.out) == (0, "rolecall.celery rejects 0 places\n")


def test_check_as_json_lists_places(bare: Run) -> None:
    found = bare("import", "celery", SAMPLES / "celery", "--check", "--json").json

    assert found["rejected"][0]["place"] == {"file": "shop/limits.py", "line": 9}
