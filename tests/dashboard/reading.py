"""Parses pages for tests: elements by their tag and attributes, and the visible text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx2

VOID = frozenset({"input", "meta", "link", "br", "hr", "img", "path", "circle"})


@dataclass(slots=True)
class Element:
    """An element with its content."""

    tag: str
    attributes: dict[str, str]
    inside: list[Element | str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    @property
    def text(self) -> str:
        """The text content, with single spaces."""
        return " ".join(" ".join(self._pieces()).split())

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Return all descendants with that tag and those attributes; `class_` is one of their classes."""
        return [each for each in self._below() if tag in {"", each.tag} and each.has(**attributes)]

    def one(self, tag: str = "", **attributes: str) -> Element:
        [found] = self.all(tag, **attributes)
        return found

    def has(self, **attributes: str) -> bool:
        return all(
            value in self.attributes.get("class", "").split()
            if name == "class_"
            else self.attributes.get(name) == value
            for name, value in attributes.items()
        )

    def _below(self) -> Iterator[Element]:
        for each in self.inside:
            if isinstance(each, Element):
                yield each
                yield from each._below()

    def _pieces(self) -> Iterator[str]:
        for each in self.inside:
            if isinstance(each, str):
                yield each
            elif each.tag not in {"script", "style"}:
                yield from each._pieces()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self.open[1:]):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(text: str) -> Element:
    reader = _Reader()
    reader.feed(text)
    return reader.open[0]


async def send(http: httpx2.AsyncClient, address: str, *, at: str = "/tasks", **data: object) -> httpx2.Response:
    """Submit a form of the page `at`, confirm the question, and return the response."""
    answer = await http.post(address, data=data, headers={"referer": f"http://test{at}"})
    questions = read(answer.text).all("form", id="question")
    if not questions:
        return answer
    fields = [(field["name"], field["value"]) for field in questions[0].all("input")]
    again = {name: [value for each, value in fields if each == name] for name, _ in fields}
    return await http.post(questions[0]["action"], data=again, headers={"referer": f"http://test{address}"})


async def shown(http: httpx2.AsyncClient, address: str, status: int = 200) -> Element:
    """Request a page, and parse it."""
    answer = await http.get(address)
    assert answer.status_code == status, answer.text
    return read(answer.text)
