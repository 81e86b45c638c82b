"""Answer GraphQL requests from a world."""

from __future__ import annotations

from typing import Any

import msgspec
from graphql import GraphQLError, GraphQLResolveInfo, execute_sync

from storecrawl.demo.upstream.menus import MenuPart
from storecrawl.demo.upstream.queries import PRODUCTS_FIELD, BadQuery, QueryStore, UnknownHash
from storecrawl.demo.upstream.schema import make_schema
from storecrawl.demo.upstream.world import World

FIRST_PAGE_OPERATION = "FilteredProducts"


class PersistedQuery(msgspec.Struct, rename="camel"):
    """A persisted-query hash."""

    sha256_hash: str
    version: int = 1


class Extensions(msgspec.Struct, rename="camel"):
    """The extensions of a request."""

    persisted_query: PersistedQuery | None = None


class GraphqlRequest(msgspec.Struct, rename="camel"):
    """A request, sent by GET or POST."""

    operation_name: str | None = None
    variables: dict[str, Any] | None = None
    query: str | None = None
    extensions: Extensions | None = None

    @property
    def digest(self) -> str | None:
        persisted = None if self.extensions is None else self.extensions.persisted_query
        return None if persisted is None else persisted.sha256_hash

    @property
    def is_first_page(self) -> bool:
        return self.operation_name == FIRST_PAGE_OPERATION and not (self.variables or {}).get("page")


class Answer(msgspec.Struct, frozen=True):
    """The HTTP status and the body of a response."""

    status: int
    body: bytes
    media_type: str = "application/json"


class Answerer:
    """Runs requests against a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._schema = make_schema()
        self.queries = QueryStore(self._schema)
        self._encode = msgspec.json.Encoder().encode
        self._root = {
            "filteredDispensaries": self._stores,
            "getAllCitiesByState": self._cities,
            "dispensarySearch": self._search,
            "filteredProducts": self._products,
        }

    def answer(self, request: GraphqlRequest) -> Answer:
        try:
            return self._run(request)
        except UnknownHash:
            status = 400 if request.is_first_page else 200
            return self.error("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", status)
        except BadQuery as error:
            return self.error(str(error), error.code, 400)

    def error(self, message: str, code: str, status: int) -> Answer:
        errors = [{"message": message, "extensions": {"code": code}}]
        return Answer(status, self._encode({"errors": errors, "data": None}))

    def _run(self, request: GraphqlRequest) -> Answer:
        prepared = self.queries.find(request.query, request.digest)
        pages: list[MenuPart] = []
        result = execute_sync(
            self._schema,
            prepared.document,
            root_value=self._root,
            context_value=pages,
            variable_values=request.variables,
            operation_name=request.operation_name,
        )
        if result.errors:
            return self._error_answer(result.errors[0])
        data: dict[str, Any] = result.data or {}
        if prepared.whole_products and pages:
            data["filteredProducts"][PRODUCTS_FIELD] = [msgspec.Raw(product) for product in pages[0].products]
        return Answer(200, self._encode({"data": data}))

    def _error_answer(self, first: GraphQLError) -> Answer:
        # An error in the variables occurs before execution and has no path.
        if first.path is None:
            return self.error(first.message, "BAD_USER_INPUT", 400)
        return self.error(first.message, "INTERNAL_SERVER_ERROR", 200)

    def _stores(self, _: GraphQLResolveInfo[list[MenuPart]], filter: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: A002 (wire name)
        return self._world.stores(filter)

    def _cities(self, _: GraphQLResolveInfo[list[MenuPart]], state: str) -> list[dict[str, Any]]:
        return self._world.cities(state)

    def _search(self, _: GraphQLResolveInfo[list[MenuPart]], **arguments: Any) -> dict[str, Any]:
        return {"results": self._world.find_matching(arguments["searchTerm"], arguments["limit"])}

    def _products(self, info: GraphQLResolveInfo[list[MenuPart]], **arguments: Any) -> dict[str, Any]:
        page = self._world.page(arguments["filter"], arguments["page"], arguments["perPage"])
        info.context.append(page)
        return {
            PRODUCTS_FIELD: lambda _: [msgspec.json.decode(product) for product in page.products],
            "queryInfo": {"totalCount": page.total_count, "totalPages": page.total_pages},
        }
