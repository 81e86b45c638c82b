"""The cache of computed menu results."""

from __future__ import annotations

from storecrawl.pages.menus import Recent


async def test_most_recent_results_are_cached() -> None:
    recent: Recent[str, str] = Recent(2)
    worked_out: list[str] = []

    async def ask(key: str) -> str:
        async def compute() -> str:
            worked_out.append(key)
            return key * 2

        return await recent.get(key, compute)

    answers = [await ask(key) for key in "abacab"]

    assert answers == ["aa", "bb", "aa", "cc", "aa", "bb"]
    assert worked_out == ["a", "b", "c", "b"]
