"""Hidden parts of payloads and results, marked as `writeOnly` in their JSON schema.

A type marks a value as hidden (`Annotated[str, Redacted]`, pydantic's SecretStr), and the schema is stored with the
handler. Code that shows values applies it first. A value is hidden if any alternative of the schema hides it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

Schema = Mapping[str, Any]
Nodes = list[Schema]
# A path in a value: field names and item numbers.
Place = tuple[str | int, ...]
Change = Callable[[Place, Any], Any]

REDACTED = "[redacted]"
WRITE_ONLY = "writeOnly"
ALTERNATIVES = ("anyOf", "oneOf", "allOf")
# Shorter values occur in many texts by chance.
SHORTEST = 4
# How much of a secret must match if the text was cut within it.
LONGEST_CUT = 32
STEP = re.compile(r"\.([^.\[\]]+)|\[([^\]]*)\]")
WHOLE_PLACE = re.compile(rf"\$(?:{STEP.pattern})*")


class Redaction:
    """The hidden parts of one schema."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema: Schema = schema or {}
        self._definitions: Schema = self._schema.get("$defs", {})
        self.hides_anything = hides(self._schema)

    def redact(self, value: Any) -> Any:
        """Return the value with each hidden part replaced by `[redacted]`."""
        return self._change_hidden(value, lambda _place, _hidden: REDACTED)

    def restore(self, value: Any, stored: Any) -> tuple[Any, Place | None]:
        """Restore hidden parts of an edited value from the stored one, and return the first place that has no stored
        value.

        Within a list, parts are restored only if nothing else in the list has changed, because items have no names.
        """
        missing: list[Place] = []

        def keep(place: Place, hidden: Any) -> Any:
            if hidden != REDACTED:
                return hidden
            found = self._stored_values(place, value, stored)
            if not found:
                missing.append(place)
            return found[0] if found else hidden

        whole = self._change_hidden(value, keep)
        return whole, missing[0] if missing else None

    def hidden_texts(self, value: Any) -> list[str]:
        """Return the texts that must not appear elsewhere: each hidden text or number, in the forms in which it
        may be written.
        """
        found: set[str] = set()

        def note(_place: Place, hidden: Any) -> Any:
            for text in map(str, _leaves(hidden)):
                found.update((text, repr(text)[1:-1], json.dumps(text)[1:-1]))

        self._change_hidden(value, note)
        return [text for text in found if len(text) >= SHORTEST]

    def hides_place(self, place: str) -> tuple[bool, bool]:
        """Return whether a place, such as `$.logins[0].token`, is hidden, and whether it or anything below it is."""
        if not self.hides_anything:
            return False, False
        nodes = self._nodes([self._schema])
        for name, index in STEP.findall(place):
            if _is_hidden(nodes):
                break
            nodes = self._nodes([*self._of_field(nodes, name or index), *_of_item(nodes, 0)])
        hidden = WHOLE_PLACE.fullmatch(place) is None or _is_hidden(nodes)
        return hidden, hidden or self._hides_below(nodes)

    def hides_in(self, part: Schema) -> bool:
        """Return whether a part of the schema is hidden at least partly."""
        return self._hides_below([part])

    def _change_hidden(self, value: Any, change: Change) -> Any:
        return self._walk(value, self._nodes([self._schema]), (), change) if self.hides_anything else value

    def _walk(self, value: Any, nodes: Nodes, place: Place, change: Change) -> Any:
        if _is_hidden(nodes):
            return change(place, value)
        if isinstance(value, Mapping):
            return {
                name: self._walk(inner, self._nodes(self._of_field(nodes, name)), (*place, name), change)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [
                self._walk(inner, self._nodes(_of_item(nodes, index)), (*place, index), change)
                for index, inner in enumerate(value)
            ]
        return value

    def _nodes(self, nodes: Nodes) -> Nodes:
        """Return the schemas with their references resolved and all of their alternatives."""
        found: Nodes = []
        queue = list(nodes)
        while queue:
            node = queue.pop()
            # A schema of False forbids other fields.
            if not isinstance(node, dict) or any(node is each for each in found):
                continue
            found.append(node)
            if "$ref" in node:
                queue.append(self._definitions.get(str(node["$ref"]).rpartition("/")[2], {}))
            for word in ALTERNATIVES:
                queue.extend(node.get(word, ()))
        return found

    def _of_field(self, nodes: Nodes, name: str) -> Nodes:
        return [part for node in nodes for part in _parts_for(node, name)]

    def _hides_below(self, nodes: Nodes) -> bool:
        seen: Nodes = []
        queue = list(nodes)
        while queue:
            for node in self._nodes([queue.pop()]):
                if any(node is each for each in seen):
                    continue
                if _is_hidden([node]):
                    return True
                seen.append(node)
                queue.extend(_below(node))
        return False

    def _stored_values(self, place: Place, value: Any, stored: Any) -> list[Any]:
        """Return the stored value at a place as a list of one; empty if there is none or it is ambiguous."""
        nodes = self._nodes([self._schema])
        for step in place:
            if isinstance(value, list):
                was = self._walk(stored, nodes, (), lambda _place, _hidden: REDACTED)
                if self._walk(value, nodes, (), lambda _place, _hidden: REDACTED) != was:
                    return []
            if not _has(stored, step):
                return []
            value, stored = value[step], stored[step]
            found = self._of_field(nodes, step) if isinstance(step, str) else _of_item(nodes, step)
            nodes = self._nodes(found)
        return [stored]


def hides(schema: Schema | None) -> bool:
    """Return whether a schema hides anything."""
    return any(_is_hidden([node]) for node in _all_parts(schema or {}))


def union(schemas: Iterable[Schema | None]) -> Schema | None:
    """Combine schemas into one that hides everything that any of them hides."""
    known = [schema for schema in schemas if schema]
    if len(known) < 2:  # noqa: PLR2004 - nothing to combine
        return known[0] if known else None
    parts, definitions = [], {}
    for number, schema in enumerate(known):
        part = _with_prefix(schema, f"{number}.")
        definitions.update(part.pop("$defs", {}))
        parts.append(part)
    return {"anyOf": parts, "$defs": definitions}


def redact_text(secrets: Iterable[str], text: str) -> str:
    """Replace each secret in a text by `[redacted]`. Long secrets are found even if the text was cut within them."""
    for secret in sorted(secrets, key=len, reverse=True):
        start, at = secret[:LONGEST_CUT], 0
        while (at := text.find(start, at)) >= 0:
            end = at + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(secret, text[at:], strict=False)))
            text = text[:at] + REDACTED + text[end:]
            at += len(REDACTED)
    return text


def hidden_problem(place: str) -> str:
    """Return the message that replaces one about a hidden value."""
    return f"the value does not fit; details are omitted because it is hidden - at {place}"


def _with_prefix(schema: Schema, prefix: str) -> dict[str, Any]:
    """Copy a schema and prefix the names of its definitions, so that those of two schemas do not collide."""

    def copy(part: Any) -> Any:
        if isinstance(part, Mapping):
            return {
                word: f"#/$defs/{prefix}{value.rpartition('/')[2]}"
                if word == "$ref" and isinstance(value, str)
                else copy(value)
                for word, value in part.items()
            }
        return [copy(inner) for inner in part] if isinstance(part, list) else part

    definitions = {prefix + name: copy(part) for name, part in schema.get("$defs", {}).items()}
    return {**copy(schema), "$defs": definitions}


def _all_parts(part: Any) -> Iterator[Schema]:
    queue = [part]
    while queue:
        part = queue.pop()
        if isinstance(part, Mapping):
            yield part
            queue.extend(part.values())
        elif isinstance(part, list):
            queue.extend(part)


def _is_hidden(nodes: Nodes) -> bool:
    return any(node.get(WRITE_ONLY) is True for node in nodes)


def _parts_for(node: Schema, name: str) -> Iterator[Schema]:
    fields = node.get("properties", {})
    patterns = [part for pattern, part in node.get("patternProperties", {}).items() if re.search(pattern, name)]
    if name in fields:
        yield fields[name]
    yield from patterns
    if name not in fields and not patterns:
        yield node.get("additionalProperties", {})


def _of_item(nodes: Nodes, index: int) -> Nodes:
    found: Nodes = []
    for node in nodes:
        first = node.get("prefixItems", [])
        found.append(first[index] if index < len(first) else node.get("items", {}))
    return found


def _below(node: Schema) -> Iterator[Schema]:
    yield from node.get("properties", {}).values()
    yield from node.get("patternProperties", {}).values()
    yield from node.get("prefixItems", [])
    yield from (part for word in ("additionalProperties", "items") if isinstance(part := node.get(word), Mapping))


def _has(value: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(value, Mapping) and step in value
    return isinstance(value, list) and step < len(value)


def _leaves(value: Any) -> Iterator[str | float]:
    queue = [value]
    while queue:
        part = queue.pop()
        if isinstance(part, Mapping):
            queue.extend(part.values())
        elif isinstance(part, list):
            queue.extend(part)
        elif isinstance(part, str | int | float) and not isinstance(part, bool):
            yield part
