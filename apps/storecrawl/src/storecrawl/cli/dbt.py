"""`storecrawl dbt-sources`: print the tables for readers as sources of dbt."""

from __future__ import annotations

from typer import echo

from storecrawl.catalog.relations import dbt_sources, read_relations
from storecrawl.cli.connect import CrawlHome, DatabaseUrl, DataDir


def print_sources(*, data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Print YAML with the tables, their descriptions and tests: storecrawl dbt-sources > models/storecrawl.yml."""
    home = CrawlHome(data_dir=data_dir, database_url=database_url)
    echo(dbt_sources(home.query(read_relations)), nl=False)
