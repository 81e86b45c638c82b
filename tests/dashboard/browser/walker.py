"""A simulated user of the dashboard: presses buttons by their names, answers questions and reads messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.sql.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Walker:
    """A user with an open page. The effects of their actions are looked up in the pool."""

    page: Page
    pool: Engine

    async def go(self, path: str) -> None:
        """Open a page by its address."""
        await self.page.goto(path)

    async def follow(self, name: str) -> None:
        """Follow the first link with this name."""
        await self.page.get_by_role("link", name=name).first.click()

    async def press(self, name: str, *, role: Any = "button", within: Locator | None = None) -> None:
        """Press the button with exactly this name."""
        await (within or self.page).get_by_role(role, name=name, exact=True).click()

    async def press_and_confirm(self, name: str, question: str) -> None:
        """Press a button, read the question, and confirm."""
        await self.press(name)
        dialog = self.page.get_by_role("dialog")
        await expect(dialog).to_contain_text(question)
        await self.press(name, within=dialog)

    async def fill(self, label: str, text: str) -> None:
        """Fill in the field with this name."""
        await self.page.get_by_label(label).first.fill(text)

    async def sees_message(self, text: str) -> None:
        """Wait for the message about a completed action."""
        await expect(self.page.locator(".notice").filter(has_text=text)).to_be_visible()

    def did(self) -> tuple[str, str]:
        """Return the last action in the audit log, with its interface."""
        [(action, via)] = self.pool.rows("select action, via from rolecall.audit_log order by id desc limit 1")
        return action, via
