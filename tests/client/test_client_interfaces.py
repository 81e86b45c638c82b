from __future__ import annotations

import inspect
from typing import Any

from rolecall import AsyncClient, Client


def _verbs(client: type) -> dict[str, Any]:
    return {
        name: list(inspect.signature(member).parameters)
        for name, member in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_")
    }


def test_sync_and_async_clients_have_the_same_methods_and_parameters() -> None:
    assert _verbs(Client) == _verbs(AsyncClient)
    assert {"enqueue", "enqueue_many", "get", "wait", "cancel", "retry", "counts"} < set(_verbs(Client))


def test_sync_and_async_clients_have_the_same_docstrings() -> None:
    result = {name: getattr(Client, name).__doc__ for name in _verbs(Client)}

    assert result == {name: _as_sync(getattr(AsyncClient, name).__doc__) for name in _verbs(AsyncClient)}


def test_every_method_of_the_async_client_is_async() -> None:
    """Methods that do not query the database are exempt."""
    verbs = [inspect.unwrap(getattr(AsyncClient, name)) for name in _verbs(AsyncClient) if name != "after_commit"]

    assert all(inspect.iscoroutinefunction(verb) or inspect.isasyncgenfunction(verb) for verb in verbs)


def _as_sync(doc: str) -> str:
    return doc.replace("async with", "with").replace("await ", "")
