"""Makes `python -m rolecall` the same as the `rolecall` command."""

from __future__ import annotations

from rolecall.cli.main import main

main()
