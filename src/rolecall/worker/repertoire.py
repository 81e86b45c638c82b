"""What a worker can run by now: the handlers of its program, and the procedures that the database knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rolecall.model.procedures import StoredProcedure
from rolecall.model.tasks import ClaimedTask
from rolecall.sql import procedures
from rolecall.worker.runners import Runner
from rolecall.worker.session import Session


class Repertoire:
    """Claims ask for its `names`; a procedure that is declared while the worker runs joins them at the next look.

    Where the program has a handler of the same name, that one counts.
    """

    def __init__(
        self,
        own: Mapping[str, Runner],
        second: Mapping[str, Runner],
        runner_for: Callable[[StoredProcedure], Runner],
    ) -> None:
        self._own = tuple(own)
        self._second = second
        self._runner_for = runner_for
        # Runners are added and replaced, never removed: a claim that is under way may still bring their tasks.
        self._runners = dict(own)
        self._known: dict[str, StoredProcedure] = {}
        self.names = self._own

    def runner(self, task: ClaimedTask) -> Runner:
        """Return who runs a claimed task: its handler's first step, or the one after its children."""
        steps = self._second if task.step and task.handler in self._second else self._runners
        return steps[task.handler]

    @property
    def procedures(self) -> Mapping[str, StoredProcedure]:
        """The procedures among the names."""
        return MappingProxyType(self._known)

    async def look(self, session: Session) -> bool:
        """Read which procedures there are; return whether the names have changed."""
        stored = await session.run(procedures.known())
        known = {procedure.name: procedure for procedure in stored if procedure.name not in self._own}
        for name, procedure in known.items():
            if self._known.get(name) != procedure:
                self._runners[name] = self._runner_for(procedure)
        before, self._known, self.names = self.names, known, (*self._own, *known)
        return self.names != before
