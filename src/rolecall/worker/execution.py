"""Creates the runners of a program's handlers and of procedures."""

from __future__ import annotations

from rolecall.model.handlers import StoredProcedure
from rolecall.worker.handler_services import HandlerServices
from rolecall.worker.in_flight import Runner
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.procedures import ProcedureRunner
from rolecall.worker.program import Handler, Program
from rolecall.worker.runners import AsyncRunner, HandlerRegistry, NoGather, runner_for
from rolecall.worker.tracing import trace_runner


def registry_of(app: Program, services: HandlerServices, outcomes: Outcomes) -> HandlerRegistry:
    """Create a runner for each handler, with its middlewares and with tracing if a sink traces."""

    def run(handler: Handler) -> Runner:
        middlewares = app.middlewares_of(handler.name)
        runner = runner_for(handler, services, outcomes, processes=services.processes, middlewares=middlewares)
        return trace_runner(runner, services.tracing)

    def run_procedure(procedure: StoredProcedure) -> Runner:
        runner = ProcedureRunner(procedure, services, outcomes, app.middlewares_of(procedure.name))
        return trace_runner(runner, services.tracing)

    first_steps = {(name, False): run(handler) for name, handler in app.handlers.items()}
    gather_steps = {
        (name, True): run(handler.gather) if handler.gather else AsyncRunner(NoGather(name), services, outcomes, ())
        for name, handler in app.handlers.items()
    }
    return HandlerRegistry(first_steps | gather_steps, run_procedure)
