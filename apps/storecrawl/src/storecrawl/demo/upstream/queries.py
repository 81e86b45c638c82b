"""Prepare query texts: parse, validate, store by hash, and remove what needs no execution."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from graphql import (
    REMOVE,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    SelectionSetNode,
    Visitor,
    get_named_type,
    parse,
    validate,
    visit,
)

from storecrawl.demo.upstream.schema import PRODUCT_TYPE

REMEMBERED_QUERIES = 1_000
PRODUCTS_FIELD = "products"


class BadQuery(Exception):
    """A request that gets errors and HTTP status 400; clients distinguish them by `code`."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class UnknownHash(Exception):
    """A hash whose query text is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuery:
    """A validated query; with `whole_products`, its products are inserted as written, not executed."""

    document: DocumentNode
    whole_products: bool


class QueryStore:
    """Prepares query texts, and stores those sent with their hash, which is then sufficient."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._cached_query = lru_cache(maxsize=256)(self._prepare)

    def find(self, text: str | None, digest: str | None) -> PreparedQuery:
        """Return the query of a text, a hash, or both. Raises BadQuery, UnknownHash."""
        if text is None:
            return self._cached_query(self._find_text(digest))
        prepared = self._cached_query(text)
        if digest is not None:
            self._store_text(text, digest)
        return prepared

    def forget(self) -> None:
        """Forget all hashes, like an upstream that rotates them."""
        self._texts.clear()

    def _find_text(self, digest: str | None) -> str:
        if digest is None:
            raise BadQuery("The request has neither a query nor a persisted-query hash.", "BAD_REQUEST")
        if digest not in self._texts:
            raise UnknownHash(digest)
        return self._texts[digest]

    def _store_text(self, text: str, digest: str) -> None:
        if sha256(text.encode()).hexdigest() != digest:
            raise BadQuery("The persisted-query hash does not match the query.", "BAD_REQUEST")
        self._texts[digest] = text
        if len(self._texts) > REMEMBERED_QUERIES:
            self._texts.popitem(last=False)

    def _prepare(self, text: str) -> PreparedQuery:
        try:
            document = parse(text)
        except GraphQLSyntaxError as error:
            raise BadQuery(error.message, "GRAPHQL_PARSE_FAILED") from error
        errors = validate(self._schema, document)
        if errors:
            raise BadQuery(errors[0].message, "GRAPHQL_VALIDATION_FAILED")
        return _without_whole_products(document, self._schema)


def _without_whole_products(document: DocumentNode, schema: GraphQLSchema) -> PreparedQuery:
    remover = _ProductsRemover(Selections(document), schema)
    pruned = visit(document, remover)
    is_whole = remover.removed_count == 1
    return PreparedQuery(document=pruned if is_whole else document, whole_products=is_whole)


class Selections:
    """Finds the fields of a selection, including fragments."""

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }

    def covers(self, selected: SelectionSetNode | None, expected: Any) -> bool:
        """Return whether a selection has all fields of a type under their own names, at any depth."""
        kind = get_named_type(expected)
        if not isinstance(kind, GraphQLObjectType):
            return True
        fields = {} if selected is None else self._fields(selected)
        return "__typename" in fields and all(
            name in fields and self.covers(fields[name].selection_set, field.type)
            for name, field in kind.fields.items()
        )

    def _fields(self, selected: SelectionSetNode) -> dict[str, FieldNode]:
        fields: dict[str, FieldNode] = {}
        for node in selected.selections:
            if isinstance(node, FieldNode) and node.alias is None and not node.directives:
                fields[node.name.value] = node
            elif isinstance(node, InlineFragmentNode) and not node.directives:
                fields |= self._fields(node.selection_set)
            elif isinstance(node, FragmentSpreadNode) and not node.directives:
                fields |= self._fields(self._fragments[node.name.value].selection_set)
        return fields


class _ProductsRemover(Visitor):
    def __init__(self, selections: Selections, schema: GraphQLSchema) -> None:
        super().__init__()
        self.removed_count = 0
        self._selections = selections
        self._product = schema.get_type(PRODUCT_TYPE)

    def enter_field(self, node: FieldNode, *_: Any) -> Any:
        is_plain = node.name.value == PRODUCTS_FIELD and node.alias is None and not node.directives
        if is_plain and self._selections.covers(node.selection_set, self._product):
            self.removed_count += 1
            return REMOVE
        return None
