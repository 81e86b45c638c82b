from __future__ import annotations

import subprocess
import sys


def test_menu_type_read_by_threads_is_resolved_at_import() -> None:
    """msgspec crashes if two threads resolve a type at once."""
    program = "from storecrawl.catalog.files import Menu; assert '__msgspec_cache__' in vars(Menu)"

    subprocess.run([sys.executable, "-c", program], check=True)
