from __future__ import annotations

import subprocess
import sys


def test_the_menu_that_threads_read_is_worked_out_at_import() -> None:
    """Two threads that work out a type of msgspec at the same moment crash the process."""
    program = "from storecrawl.catalog.files import Menu; assert '__msgspec_cache__' in vars(Menu)"

    subprocess.run([sys.executable, "-c", program], check=True)
