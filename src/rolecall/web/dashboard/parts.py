"""Parts of pages, each of which fails alone if the database is slow.

    route      found = await view.read(tasks=..., counts=...)       all at the same time, for a few seconds at most
                   │
                   └─► the value of a read that took too long raises TooSlow when it is used
                            │
    template   {% part "counts", "This count" %} ... {% endpart %}  ─► a sentence instead of the content

Outside of a part, such a value makes the whole page too slow. `{% if counts is late %}` asks without using it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import StrictUndefined, TemplateRuntimeError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context


class TooSlow(TemplateRuntimeError):
    """Raised when a value is used whose read took too long. Its message is the rest of a sentence about the read."""


def late(reason: str) -> Any:
    """Return a value that raises TooSlow whenever it is used."""
    return StrictUndefined(hint=reason, exc=TooSlow)


def is_late(value: object) -> bool:
    """Return whether the read of a value took too long."""
    return isinstance(value, StrictUndefined)


class PartExtension(Extension):
    """The tag `{% part name, what, hint %}`. `what` is the subject of the sentence; `hint` says what would be faster.

    Live fragments contain their parts, so that live.js keeps the earlier content of a part that is late.
    """

    tags = {"part"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        lineno = next(parser.stream).lineno
        arguments = [parser.parse_expression()]
        while parser.stream.skip_if("comma"):
            arguments.append(parser.parse_expression())
        body = parser.parse_statements(("name:endpart",), drop_needle=True)
        call = self.call_method("_render", [nodes.ContextReference(), *arguments])
        return nodes.CallBlock(call, [], [], body).set_lineno(lineno)

    def _render(self, context: Context, name: str, what: str, hint: str = "", *, caller: Callable[[], str]) -> str:
        template = context.environment.get_template("part.html")
        try:
            return template.render(name=name, content=caller())
        except TooSlow as error:
            return template.render(name=name, sentence=f"{what} {error}", hint=hint)
