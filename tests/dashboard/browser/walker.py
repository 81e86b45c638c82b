"""A person at the dashboard: presses what has a name, answers what is asked, and reads what is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.sql.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Walker:
    """Somebody with a page before them; what they do is looked up in the pool."""

    page: Page
    pool: Engine

    async def go(self, path: str) -> None:
        """Open a page by its address."""
        await self.page.goto(path)

    async def follow(self, name: str) -> None:
        """Follow the first link of that name."""
        await self.page.get_by_role("link", name=name).first.click()

    async def press(self, name: str, *, role: Any = "button", within: Locator | None = None) -> None:
        """Press the button of exactly that name."""
        await (within or self.page).get_by_role(role, name=name, exact=True).click()

    async def press_and_confirm(self, name: str, question: str) -> None:
        """Press a button, read what is asked, and say yes."""
        await self.press(name)
        dialog = self.page.get_by_role("dialog")
        await expect(dialog).to_contain_text(question)
        await self.press(name, within=dialog)

    async def fill(self, label: str, text: str) -> None:
        """Write into the field of that name."""
        await self.page.get_by_label(label).first.fill(text)

    async def is_told(self, text: str) -> None:
        """Wait for the sentence that says what has been done."""
        await expect(self.page.locator(".said").filter(has_text=text)).to_be_visible()

    def did(self) -> tuple[str, str]:
        """What was done last by the audit log, and through which shell."""
        [(action, via)] = self.pool.rows("select action, via from rolecall.audit_log order by id desc limit 1")
        return action, via
