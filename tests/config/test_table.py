"""The table of settings: one primary name each and a correct description."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from rolecall.config import SETTINGS, Setting, read_settings
from rolecall.config.failpoints import VARIABLE as FAILPOINT
from rolecall.testing.servers import VARIABLE as TEST_SERVER
from rolecall.worker.subprocess.child import MARK

ROOT = Path(__file__).resolve().parents[2]
ALL = [setting for group in SETTINGS.values() for setting in group]
# Variables of other systems, and one that every program knows by this name.
BARE = {"DATABASE_URL", "DATABASE_URL_FILE", "HEARTBEAT_INTERVAL_SECONDS"}
# For tests and internal use; the last one is a shell variable of the guides.
INTERNAL = {FAILPOINT, TEST_SERVER, MARK, "ROLECALL_KEY", "ROLECALL_COMPLETE"}
VARIABLES = re.compile(r"\bROLECALL_[A-Z0-9_]*[A-Z0-9]\b")


def by_name(setting: Setting[object]) -> str:
    return setting.name


def test_every_name_belongs_to_one_setting() -> None:
    names = [name for setting in ALL for name in setting.names]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("setting", [each for each in ALL if not each.foreign], ids=by_name)
def test_displayed_name_has_the_project_prefix(setting: Setting[object]) -> None:
    assert setting.name.startswith("ROLECALL_") or setting.name in BARE


@pytest.mark.parametrize("setting", [each for each in ALL if each.flag], ids=by_name)
def test_flag_is_named_after_its_variable(setting: Setting[object]) -> None:
    assert setting.flag == "--" + setting.name.removeprefix("ROLECALL_").lower().replace("_", "-")


@pytest.mark.parametrize("setting", [each for each in ALL if each.default], ids=by_name)
def test_documented_default_equals_the_actual_default(setting: Setting[object]) -> None:
    assert read_settings({setting.name: setting.default}) == read_settings({})


@pytest.mark.parametrize("setting", ALL, ids=by_name)
def test_setting_has_a_one_sentence_description(setting: Setting[object]) -> None:
    assert re.fullmatch(r"[A-Z].*[.]", setting.meaning)
    assert setting.form


def test_no_alternate_name_of_ours_is_documented() -> None:
    files = subprocess.run(
        ["git", "ls-files", "src", "docs", "deploy", "README.md"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    texts = (
        ROOT / name
        for name in files
        if name.endswith((".py", ".md", ".yaml", ".yml", ".service", ".html"))
        and not name.startswith("docs/decisions/")
    )

    shown = {found for file in texts for found in VARIABLES.findall(file.read_text())}

    # The first name is almost always the primary name itself.
    assert shown - INTERNAL <= {name for setting in ALL for name in (setting.name, setting.names[0])}
