"""The cache of computed menu results."""

from __future__ import annotations

from storecrawl.pages.menus import Recent


async def test_most_recent_results_are_cached() -> None:
    recent: Recent[str, str] = Recent(2)
    computed_keys: list[str] = []

    async def get(key: str) -> str:
        async def compute() -> str:
            computed_keys.append(key)
            return key * 2

        return await recent.get(key, compute)

    answers = [await get(key) for key in "abacab"]

    assert answers == ["aa", "bb", "aa", "cc", "aa", "bb"]
    assert computed_keys == ["a", "b", "c", "b"]
