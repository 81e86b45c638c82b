"""Open the lake in DuckDB. Imported only where the extra `lake` is needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs

from rolecall import ConfigError
from storecrawl.lake.columns import PARTITION, PRICES
from storecrawl.lake.days import PART
from storecrawl.lake.parquet import arrow_schema
from storecrawl.storage.endpoint import endpoint_of

FILES = "prices/*/*/*/prices.parquet"
FROM_FILES = """
create view lake as from read_parquet(
    {files}, hive_partitioning = true, hive_types = {{'platform': varchar, 'state': varchar, 'day': date}}
)
"""
SCHEMA = arrow_schema(PRICES)


def open_lake(url: str, data_dir: Path) -> duckdb.DuckDBPyConnection:
    """Return DuckDB with the views of the lake in a folder, or below `url` (s3://bucket/prefix).

    An empty lake has the same views. Raises ConfigError if the bucket does not respond.
    """
    connection = duckdb.connect()
    if url:
        connection.register("lake", _dataset_in_bucket(url))
    elif any((data_dir / PART).glob(FILES)):
        connection.execute(FROM_FILES.format(files=_quoted(f"{(data_dir / PART).absolute()}/{FILES}")))
    else:
        connection.register("lake", SCHEMA.empty_table())
    connection.execute(resources.files("storecrawl.lake").joinpath("views.sql").read_text("utf-8"))
    return connection


def _dataset_in_bucket(url: str) -> pa.dataset.Dataset:
    """Return the files of a bucket. DuckDB's own client for buckets is an extension that it would have to download."""
    place = urlsplit(url)
    try:
        return pa.dataset.dataset(
            f"{place.netloc}{place.path.rstrip('/')}/{PART}/prices",
            schema=SCHEMA,
            format="parquet",
            filesystem=_bucket_client(os.environ),
            partitioning=pa.dataset.partitioning(pa.schema([SCHEMA.field(name) for name in PARTITION]), flavor="hive"),
        )
    except FileNotFoundError:
        return pa.dataset.dataset(SCHEMA.empty_table())
    except OSError as problem:
        reason = f"the bucket does not respond correctly ({type(problem).__name__})"
        raise ConfigError(reason, variable="STORECRAWL_STORE", value=url) from None


def _bucket_client(environment: Mapping[str, str]) -> pa.fs.S3FileSystem:
    endpoint = urlsplit(endpoint_of(environment))
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    return pa.fs.S3FileSystem(region=region, scheme=endpoint.scheme or None, endpoint_override=endpoint.netloc or None)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
