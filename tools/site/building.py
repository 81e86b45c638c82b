"""Collects the pages, has the generator convert them to HTML, and fails on errors in either."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tools.errors import SetupError
from tools.reference import reference_pages
from tools.site import inspection, navigation, sources

FOLDER = Path(".site")
PAGES, HTML, CONFIGURATION = Path("pages"), Path("html"), Path("mkdocs.yml")
ASSETS = Path(__file__).parent / "assets"
STYLE = "site.css"

COLOUR = re.compile(r"\x1b\[[\d;]*m")

CONFIGURED: dict[str, Any] = {
    "site_name": "Rolecall",
    "site_description": "Role-based background work on Postgres, for Python",
    "docs_dir": PAGES.as_posix(),
    "site_dir": HTML.as_posix(),
    "use_directory_urls": False,
    "copyright": "Rolecall contributors, Apache License 2.0",
    "extra": {"generator": False},
    "extra_css": [f"assets/{STYLE}"],
    "theme": {
        "name": "material",
        "font": False,
        "favicon": "assets/mark.svg",
        "logo": "assets/mark.svg",
        "features": [
            "content.code.copy",
            "navigation.indexes",
            "navigation.sections",
            "navigation.tabs",
            "navigation.top",
            "toc.follow",
        ],
        "palette": [
            {
                "media": "(prefers-color-scheme: light)",
                "scheme": "default",
                "toggle": {"icon": "lucide/sun", "name": "Switch to dark"},
            },
            {
                "media": "(prefers-color-scheme: dark)",
                "scheme": "slate",
                "toggle": {"icon": "lucide/moon", "name": "Switch to light"},
            },
        ],
    },
    "markdown_extensions": [
        "admonition",
        "attr_list",
        "footnotes",
        "md_in_html",
        "tables",
        {"toc": {"permalink": True}},
        "pymdownx.details",
        {"pymdownx.highlight": {"pygments_lang_class": True}},
        "pymdownx.inlinehilite",
        "pymdownx.superfences",
        {"pymdownx.tabbed": {"alternate_style": True, "combine_header_slug": True}},
    ],
}


def build(root: Path, folder: Path) -> None:
    """Build the site below a folder.

    Raises SetupError for a page that is not in the navigation, a broken link, and any warning of the generator.
    """
    write_sources(root, folder)
    command = [program(root), "build", "--strict", "--clean", "--config-file", str(folder / CONFIGURATION)]
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        warned = COLOUR.sub("", done.stdout).partition("Traceback")[0]
        raise SetupError(f"the site cannot be built\n{warned}")
    if wrong := list(inspection.faults(folder / HTML)):
        raise SetupError("\n  ".join(["the site has errors", *wrong]))


def write_sources(root: Path, folder: Path) -> None:
    """Write the generator's input. Raises SetupError if it is inconsistent."""
    pages = sources.pages(root) | reference_pages(root)
    configuration = CONFIGURED | {"nav": [part.as_entry() for part in navigation.read(root, pages)]}
    target = folder / PAGES
    for old in target.rglob("*.md"):
        if old.relative_to(target).as_posix() not in pages:
            old.unlink()
    for place, text in pages.items():
        put(target / place, text.encode())
    for place, file in (sources.pictures(root) | {f"assets/{file.name}": file for file in ASSETS.iterdir()}).items():
        put(target / place, file.read_bytes())
    put(folder / CONFIGURATION, json.dumps(configuration, indent=1).encode())  # JSON is valid YAML


def put(file: Path, content: bytes) -> None:
    """Write a file unless it has this content already, because each write triggers a rebuild."""
    if not (file.exists() and file.read_bytes() == content):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def program(root: Path) -> str:
    """Return the path of the generator."""
    found = shutil.which("zensical", path=str(root / ".venv" / "bin"))
    if found is None:
        raise SetupError("zensical is missing in .venv: run ./dev setup")
    return found
