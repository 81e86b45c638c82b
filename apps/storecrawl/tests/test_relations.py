"""The description of the tables for readers: complete, and the same in the reference and for dbt."""

from __future__ import annotations

import psycopg
import pytest
import yaml
from storecrawl.catalog.relations import FOR_ANALYSTS, Relation, dbt_sources, read_relations, reference_page

from tools.schema import STORECRAWL_REFERENCE


@pytest.fixture
async def relations(database: str) -> list[Relation]:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        return await read_relations(connection)


async def test_reference_page_matches_the_schema(relations: list[Relation]) -> None:
    written = STORECRAWL_REFERENCE.read_text("utf-8")

    assert reference_page(relations) == written, "run ./dev schema and commit docs/reference/storecrawl-schema.md"


async def test_each_column_for_readers_has_a_comment(relations: list[Relation]) -> None:
    assert [relation.name for relation in relations] == list(FOR_ANALYSTS)
    assert [
        f"{relation.name}.{column.name}" for relation in relations for column in relation.columns if not column.comment
    ] == []


async def test_dbt_sources_test_keys_and_references(relations: list[Relation]) -> None:
    [source] = yaml.safe_load(dbt_sources(relations))["sources"]
    tables = {table["name"]: {column["name"]: column for column in table["columns"]} for table in source["tables"]}

    assert tables["products"]["id"]["data_tests"] == ["unique", "not_null"]
    reference = {"relationships": {"to": "source('storecrawl', 'stores')", "field": "id"}}
    assert tables["products"]["store_id"]["data_tests"] == ["not_null", reference]
    assert "data_tests" not in tables["products"]["brand"]
    assert tables["stores"]["dark_since"]["description"].startswith("When the store was found without a menu")
