from __future__ import annotations

from pathlib import Path

import pytest

from tools import bootstrap, pip_wheel, uv
from tools.errors import SetupError

INDEX = "https" + "://mirror.example/root"
SETTINGS = f"""\
:env:.index-url='{INDEX}'
global.cert='/ca.pem'
global.extra-index-url='file:///a\\nfile:///b'
global.index-url='file:///c'
"""


def test_pip_settings_are_passed_to_uv() -> None:
    assert uv.uv_settings(SETTINGS) == {
        "UV_DEFAULT_INDEX": INDEX,
        "UV_INDEX": "file:///a file:///b",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_FILE": "/ca.pem",
    }


def test_own_settings_of_uv_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", INDEX)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "file:///mine")

    assert uv.Uv.find(Path(__file__).parents[2]).environment["UV_DEFAULT_INDEX"] == "file:///mine"


def test_user_without_a_home_gets_one_in_the_work_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))

    assert uv.home_for(tmp_path) == {"HOME": str(tmp_path / ".tools" / "home")}


def test_pip_of_python_is_used_if_it_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip-1.2.3-py3-none-any.whl").write_text("")
    monkeypatch.setattr(pip_wheel, "find_bundled", lambda: [tmp_path])

    with pip_wheel.find_pip(tmp_path) as (wheel, options):
        assert (wheel.name, options) == ("pip-1.2.3-py3-none-any.whl", [])


def test_missing_pip_is_reported_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_wheel, "find_bundled", list)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SetupError, match="neither ensurepip nor a pip wheel"), pip_wheel.find_pip(tmp_path):
        pass


def test_installer_lock_file_names_both_packages_with_hashes() -> None:
    lock = (Path(bootstrap.__file__).parents[1] / bootstrap.LOCKS[0]).read_text()

    assert [line.split("==")[0] for line in lock.splitlines() if "==" in line] == ["pip", "uv"]
    assert lock.count("--hash=sha256:") > 2


def test_moved_work_tree_is_not_up_to_date(tmp_path: Path) -> None:
    for name in bootstrap.INPUTS:
        (tmp_path / "new" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / name).write_text("same")
    bin_folder = tmp_path / "new" / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text("")
    bootstrap.stamp_of(tmp_path / "new").write_text(bootstrap.wanted_stamp(tmp_path / "new"))
    assert bootstrap.is_current(tmp_path / "new")

    (tmp_path / "new").rename(tmp_path / "moved")

    assert not bootstrap.is_current(tmp_path / "moved")
