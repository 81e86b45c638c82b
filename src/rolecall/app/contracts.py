"""What a handler promised, checked: of each attempt's result and continuation, and of what its tasks need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rolecall.app.links import Declared, resolve
from rolecall.app.results import ResultType
from rolecall.model.errors import ContractBroken
from rolecall.model.outcomes import StoredElsewhere
from rolecall.model.tasks import Enqueued, Need, NewTask

__all__ = ["Contract", "contract_of", "contracts_of"]

Names = frozenset[str]
NOTHING: Names = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededSlots:
    """Which handlers' tasks each slot takes, by name."""

    fixed: tuple[Names, ...]
    rest: Names | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The promises of one handler, made ready once the app is complete; None stands for no promise.

    `takes` are the handlers against whose signatures the payload of a continuation is checked; `then` is the rule
    that makes follow-ups of a result; `gathers` says that the handler has a gather step, to which alone the promises
    about result and continuation apply.
    """

    handler: str
    returns: ResultType | None
    continuations: Names | None
    must_continue: bool
    needs: NeededSlots | None
    takes: Mapping[str, Declared]
    then: Callable[[Any], Iterable[NewTask]] | None = None
    gathers: bool = False

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to check."""
        promises_nothing = (self.returns, self.continuations, self.needs, self.then) == (None,) * 4
        return promises_nothing and not self.must_continue and not self.gathers

    @property
    def promises_result(self) -> bool:
        """True if the type of the result is promised."""
        return self.returns is not None

    def write_result(self, result: object) -> object:
        """Return the result of an attempt as plain JSON values, if its type is promised.

        Raises ContractBroken (invalid_output) for a result that is not of the promised type.
        """
        if self.returns is None:
            return result
        if isinstance(result, StoredElsewhere):
            self.returns.write(result.whole)
            return result
        return self.returns.write(result)

    def check_earlier_step(self, continuation: NewTask | None) -> None:
        """Raise ContractBroken (invalid_continuation) for a continuation of a step that another step follows."""
        if continuation is not None:
            problem = "continues its chain in its last step only: do it in the gather step"
            raise self._broken(problem, continuation.handler)

    def check_continuation(self, task: NewTask | None) -> None:
        """Raise ContractBroken (invalid_continuation) for one that was not declared, or for none that must be.

        Raises InvalidPayload where its payload does not fit the handler that continues.
        """
        if task is None:
            if self.must_continue:
                raise self._broken("must continue its chain, but ended it", None)
            return
        if self.continuations is not None and task.handler not in self.continuations:
            raise self._broken(f"may not be continued by {task.handler!r}", task.handler)
        if self.continuations is not None and (follower := self.takes.get(task.handler or "")) is not None:
            follower.signature.check(task.payload)

    def follow_ups_of(self, result: object) -> Sequence[NewTask]:
        """Return what the handler's rule makes of a result; whatever the rule raises fails the attempt."""
        return () if self.then is None else tuple(self.then(_whole(result)))

    def check_needs(self, task: NewTask) -> None:
        """Raise ContractBroken (invalid_needs) unless what a task of this handler needs fills the slots.

        The handler of what stands in the database already is not known here: for that only the number counts.
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
                raise self._wrong_needs(f"needs {_either(allowed)} in place {place}, not {handler!r}", handlers)

    def _broken(self, problem: str, given: str | None) -> ContractBroken:
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


def contract_of(definition: Declared, registry: Mapping[str, Declared], runnable: Names = NOTHING) -> Contract:
    """Resolve a handler's references; raise HandlerMissing, InvalidDeclaration.

    They may lead to the handlers of the registry, and by name to whatever else is runnable.
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


def contracts_of(registry: Mapping[str, Declared], runnable: Names = NOTHING) -> dict[str, Contract]:
    """Return the contracts of the handlers that promise anything; the others cost nothing."""
    contracts = {name: contract_of(definition, registry, runnable) for name, definition in registry.items()}
    return {name: contract for name, contract in contracts.items() if not contract.is_empty}


def _whole(result: object) -> object:
    """The result itself, wherever it is kept."""
    return result.whole if isinstance(result, StoredElsewhere) else result


def _handler_of(need: Need | int | Enqueued | NewTask) -> str | None:
    needed = need.task if isinstance(need, Need) else need
    return needed.handler if isinstance(needed, NewTask) else None


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, sorted(names))) or "nothing"
