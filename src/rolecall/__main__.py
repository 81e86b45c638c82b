"""Lets `python -m rolecall` run the `rolecall` command."""

from __future__ import annotations

from rolecall.cli.main import main

main()
