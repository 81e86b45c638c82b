"""The prices of all observed days as Parquet files, in the folder or bucket of the crawler's other files.

    prices/platform=dutchie/state=AZ/day=2026-05-01/prices.parquet

One file per platform, state and UTC day, one row per option that was observed there. Triggers mark the days whose
prices have changed, `writing` replaces their files, `engine` opens all of them in DuckDB, and `export` reads the same
rows, or the products, from the database. Needs the extra `lake`.
"""
