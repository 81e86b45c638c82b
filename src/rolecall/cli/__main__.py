"""Lets `python -m rolecall.cli` run the `rolecall` command."""

from __future__ import annotations

from rolecall.cli.main import main

main()
