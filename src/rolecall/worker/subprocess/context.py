"""The context of a handler that runs in a child process."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.tasks import ClaimedTask
from rolecall.worker.attempt_context import AttemptContext


@dataclass(frozen=True, slots=True)
class ProcessContext(AttemptContext):
    """One attempt at one task, as a handler with `process=True` sees it.

        @app.task(process=True, timeout=60)
        def render(ctx: ProcessContext, pages: int) -> dict[str, int]: ...

    The handler cannot check whether it must stop, because its process is killed then. It cannot add tasks either:
    let the reader of its result enqueue them.
    """

    task: ClaimedTask
