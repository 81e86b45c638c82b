"""Handlers' contracts, resolved and checked: results, continuations and needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rolecall.app.links import ContractHandler, resolve
from rolecall.app.signature import ResultType
from rolecall.model.errors import ContractBroken
from rolecall.model.tasks import Enqueued, Need, NewTask

Names = frozenset[str]
NOTHING: Names = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededSlots:
    """The handlers whose tasks are accepted as needs, by position."""

    fixed: tuple[Names, ...]
    rest: Names | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The contract of one handler, with its references resolved. None means no restriction.

    `takes`: the handlers whose signatures check the payload of a continuation. `then`: the rule that derives
    follow-ups from a result. `gathers`: whether the handler has a gather step, to which the result and continuation
    then apply.
    """

    handler: str
    returns: ResultType | None
    continuations: Names | None
    must_continue: bool
    needs: NeededSlots | None
    takes: Mapping[str, ContractHandler]
    then: Callable[[Any], Iterable[NewTask]] | None = None
    gathers: bool = False

    @property
    def is_empty(self) -> bool:
        promises_nothing = (self.returns, self.continuations, self.needs, self.then) == (None,) * 4
        return promises_nothing and not self.must_continue and not self.gathers

    def check_earlier_step(self, continuation: NewTask | None) -> None:
        """Raise ContractBroken (invalid_continuation) if a step before the last one continues the chain."""
        if continuation is not None:
            problem = "can continue its chain only in its last step: do it in the gather step"
            raise self._contract_error(problem, continuation.handler)

    def check_continuation(self, task: NewTask | None) -> None:
        """Raise ContractBroken (invalid_continuation) for an undeclared continuation, or a missing one.

        Raises InvalidPayload if its payload does not match its handler.
        """
        if task is None:
            if self.must_continue:
                raise self._contract_error("must continue its chain, but ended it", None)
            return
        if self.continuations is not None and task.handler not in self.continuations:
            raise self._contract_error(f"may not be continued by {task.handler!r}", task.handler)
        if self.continuations is not None and (follower := self.takes.get(task.handler or "")) is not None:
            follower.signature.check(task.payload)

    def check_needs(self, task: NewTask) -> None:
        """Raise ContractBroken (invalid_needs) unless the needs of a task match the declaration.

        The handlers of needs that are already stored are not known here; such needs are only counted.
        """
        if self.needs is None:
            return
        fixed, rest = self.needs.fixed, self.needs.rest
        handlers = [_handler_of(need) for need in task.needs]
        if len(handlers) < len(fixed) or (rest is None and len(handlers) > len(fixed)):
            wanted = f"at least {len(fixed)}" if rest is not None else str(len(fixed))
            raise self._wrong_needs(f"needs {wanted} tasks, not {len(handlers)}", handlers)
        for place, handler in enumerate(handlers):
            allowed = fixed[place] if place < len(fixed) else rest
            if handler is not None and allowed is not None and handler not in allowed:
                raise self._wrong_needs(f"needs {_either(allowed)} at position {place}, not {handler!r}", handlers)

    def _contract_error(self, problem: str, given: str | None) -> ContractBroken:
        declared = None if self.continuations is None else sorted(self.continuations)
        allowed = "" if declared is None else f"; declared: {_either(declared)}"
        return ContractBroken(
            f"handler {self.handler!r} {problem}{allowed}",
            code="invalid_continuation",
            handler=self.handler,
            details={"continuation": given, "declared": declared},
        )

    def _wrong_needs(self, problem: str, handlers: Sequence[str | None]) -> ContractBroken:
        return ContractBroken(
            f"handler {self.handler!r} {problem}",
            code="invalid_needs",
            handler=self.handler,
            details={"needs": list(handlers)},
        )


def contract_of(
    definition: ContractHandler, registry: Mapping[str, ContractHandler], runnable: Names = NOTHING
) -> Contract:
    """Return the contract of a handler. Raises HandlerMissing and InvalidDeclaration.

    References are to handlers of the registry or, by name, to anything else that is runnable.
    """
    links = definition.links

    def names(references: Iterable[Any]) -> list[Names]:
        return [resolve(each, registry, runnable, by=definition.name) for each in references]

    return Contract(
        handler=definition.name,
        returns=definition.returns,
        continuations=None if links.continues is None else Names().union(*names(links.continues)),
        must_continue=links.must_continue,
        needs=None
        if links.needs is None
        else NeededSlots(
            fixed=tuple(names(links.needs.fixed)),
            rest=None if links.needs.rest is None else names([links.needs.rest])[0],
        ),
        takes=registry,
        then=links.then,
        gathers=definition.gather is not None,
    )


def contracts_of(registry: Mapping[str, ContractHandler], runnable: Names = NOTHING) -> dict[str, Contract]:
    """Return the contracts that are not empty, by handler."""
    contracts = {name: contract_of(definition, registry, runnable) for name, definition in registry.items()}
    return {name: contract for name, contract in contracts.items() if not contract.is_empty}


def _handler_of(need: Need | int | Enqueued | NewTask) -> str | None:
    needed = need.task if isinstance(need, Need) else need
    return needed.handler if isinstance(needed, NewTask) else None


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, sorted(names))) or "nothing"
