"""`./dev docs`: builds the site, or serves it and rebuilds it whenever one of its sources is saved."""

from __future__ import annotations

import signal
import subprocess
import sys

from watchfiles import watch

from tools.errors import SetupError
from tools.offences import ROOT
from tools.site.building import CONFIGURATION, FOLDER, HTML, build, program, write_sources

ADDRESS = "127.0.0.1:8000"
WATCHED = ("docs", "src", "tools/site", "tools/reference", "apps/storecrawl/README.md", "bench/README.md")


def main(words: list[str]) -> int:
    """Build the site, or with `--serve` serve it at ADDRESS, or at the address that follows."""
    match words:
        case []:
            try:
                build(ROOT, ROOT / FOLDER)
            except SetupError as error:
                print(f"docs: {error}", file=sys.stderr)
                return 1
            print(f"docs: {FOLDER / HTML / 'index.html'}")
            return 0
        case ["--serve", *rest] if len(rest) <= 1:
            return serve(*rest)
        case _:
            print("docs: the only option is --serve, optionally with an address", file=sys.stderr)
            return 2


def serve(address: str = ADDRESS) -> int:
    """Serve the site until Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the server below is stopped too
    write_sources(ROOT, ROOT / FOLDER)
    configuration = str(ROOT / FOLDER / CONFIGURATION)
    server = subprocess.Popen([program(ROOT), "serve", "--config-file", configuration, "--dev-addr", address])
    try:
        for _changes in watch(*(ROOT / place for place in WATCHED), raise_interrupt=False):
            try:
                write_sources(ROOT, ROOT / FOLDER)
            except SetupError as error:
                print(f"docs: {error}", file=sys.stderr)
    finally:
        server.terminate()
        server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
