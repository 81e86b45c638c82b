"""Deduplication: which task counts as existing for a new task with its dedupe key, and what happens then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from rolecall.model.errors import InvalidTask

DedupeMode = Literal["keep", "replace", "merge", "error"]
DedupeScope = Literal["pending", "open", "any"]
FieldRule = Literal["union", "sum", "max", "min", "last", "keep"]

MODES: tuple[str, ...] = get_args(DedupeMode)
SCOPES: tuple[str, ...] = get_args(DedupeScope)
FIELD_RULES: tuple[str, ...] = get_args(FieldRule)
SHORTEST_WINDOW, LONGEST_WINDOW = 0.001, 4e9


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """How the payloads of the existing and the new task are merged. Create it with the functions below."""

    fields: Mapping[str, FieldRule] | None = None
    function: str | None = None

    def __post_init__(self) -> None:
        if (self.fields is None) == (self.function is None):
            raise InvalidTask("a merge rule needs either fields or a function")
        for name, rule in (self.fields or {}).items():
            if rule not in FIELD_RULES:
                raise InvalidTask(f'the merge rule of field {name!r} must be {_one_of(FIELD_RULES)}, got "{rule}"')

    def to_json(self) -> dict[str, object]:
        return {"function": self.function} if self.fields is None else {"fields": dict(self.fields)}


def merge_fields(**rules: FieldRule) -> MergeRule:
    """Merge fields by `union` (of arrays), `sum`, `max`, `min`, `last` or `keep`; fields without a rule by `last`.

    merge_fields(product_ids="union", changes="sum", seen_at="max", reason="keep")
    """
    return MergeRule(fields=rules)


def merge_function(name: str) -> MergeRule:
    """Merge with a database function `name(existing jsonb, newer jsonb) returns jsonb`. Qualify the name with its
    schema.

    The function runs with the rights of the login that enqueues.
    """
    return MergeRule(function=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dedupe:
    """Which task counts as existing for a new one with the same handler and dedupe key, and what happens then.

        task.options(dedupe_key="shop:7", dedupe=Dedupe(mode="merge", merge=merge_fields(ids="union")))

    `scope`: `open` (the default of keep and error); `pending`, tasks that are not claimed yet (the only scope of
    replace and merge); or `any`, open tasks and all tasks that were created at most `window` seconds ago (without a
    window: all tasks that are still stored).

    `mode`: `keep` returns the id of the existing task; `replace` gives it the new payload, priority and start time;
    `merge` gives it the merged payload, the higher priority and the new start time; `error` raises DuplicateTask.
    Without a `merge` rule, fields of the newer payload replace those of the existing one.

    Claimed and finished tasks of the chain `except_chain` do not count, so that a running task can enqueue its own
    successor. Raises InvalidTask for an invalid combination.
    """

    mode: DedupeMode = "keep"
    scope: DedupeScope | None = None
    window: float | None = None
    merge: MergeRule | None = None
    except_chain: int | None = None

    def __post_init__(self) -> None:
        if (problem := self._problem()) is not None:
            raise InvalidTask(problem)

    def to_json(self) -> dict[str, object]:
        document: dict[str, object] = {"mode": self.mode}
        document |= {
            name: value for name in ("scope", "window", "except_chain") if (value := getattr(self, name)) is not None
        }
        return document if self.merge is None else document | {"merge": self.merge.to_json()}

    def _problem(self) -> str | None:
        if self.mode not in MODES:
            return f"the dedupe mode must be {_one_of(MODES)}, got {self.mode!r}"
        if self.scope is not None and self.scope not in SCOPES:
            return f"the dedupe scope must be {_one_of(SCOPES)}, got {self.scope!r}"
        if self.mode in {"replace", "merge"} and self.scope not in {None, "pending"}:
            return f"the mode {self.mode} changes only unclaimed tasks: its scope must be pending"
        if self.window is not None and self.scope != "any":
            return "only the scope any can have a window"
        if self.window is not None and not SHORTEST_WINDOW <= self.window <= LONGEST_WINDOW:
            return f"the dedupe window must be 0.001 to 4e9 s, got {self.window} s"
        if self.merge is not None and self.mode != "merge":
            return "only the mode merge can have a merge rule"
        return None


def _one_of(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
