"""Turns the problems of the pool and the doctor's findings into alerts: a sentence, advice, and the pages to see the
tasks and to act on them. Pure functions; all interfaces show these alerts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote, urlencode

from rolecall.model.findings import Finding, Severity
from rolecall.model.operator.access import Scope
from rolecall.model.operator.overview import Alert, AlertAction
from rolecall.model.operator.problems import Problem, ProblemKind

NAMED = 3
PAGES = {"expired_leases": "/tasks?state=stale", "clocks": "/admin/workers"}
OF_POOL = frozenset({*PAGES, "partitions"})
UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def of_problems(problems: Iterable[Problem]) -> list[Alert]:
    """Return an alert for each problem, the worst first. Further problems of a kind follow those of all kinds."""
    order = list(ProblemKind)
    earlier: Counter[ProblemKind] = Counter()
    ranked = []
    for problem in sorted(problems, key=lambda each: (order.index(each.kind), -each.number)):
        alert = WRITERS[problem.kind](problem)
        ranked.append(((alert.severity is not Severity.TROUBLE, earlier[problem.kind]), alert))
        earlier[problem.kind] += 1
    return [alert for _, alert in sorted(ranked, key=lambda each: each[0])]


def visible_to(scope: Scope, alerts: Sequence[Alert]) -> list[Alert]:
    """Return the alerts that a caller may see. Other sessions of the server are shown only to those who can act."""
    return [alert for alert in alerts if not alert.of_server or scope.includes(Scope.OPERATE)]


def of_findings(findings: Iterable[Finding]) -> Iterator[Alert]:
    """Yield alerts for the doctor's findings."""
    for found in findings:
        yield Alert(
            severity=found.severity,
            sentence=_sentence(found.problem),
            advice=_sentence(found.advice),
            kind=found.check,
            path=found.path or PAGES.get(found.check),
            count=found.count,
            since=found.since,
            of_server=found.app is None and found.check not in OF_POOL,
        )


def findings_of(alerts: Iterable[Alert]) -> Iterator[Finding]:
    """Yield findings of the doctor for alerts of the pool."""
    for alert in alerts:
        yield Finding(
            severity=alert.severity,
            check=alert.kind,
            problem=alert.sentence,
            advice=alert.advice,
            path=alert.path,
            count=alert.count,
            since=alert.since,
        )


def _no_worker(problem: Problem) -> Alert:
    if problem.figures["active_workers"]:
        sentence = f"No worker serves {_roles(problem)}; {_wait(problem.number)}."
    else:
        sentence = f"No worker is running; {_wait(problem.number)} in {_roles(problem)}."
    which = {"state": "ready", "role": ",".join(problem.roles)}
    advice = "Start a worker that serves these roles, or resume one that is draining."
    return _trouble(problem, sentence, advice, which, AlertAction(label="Workers", path="/admin/workers"))


def _no_handler(problem: Problem) -> Alert:
    named = _names("handler", problem.handlers)
    which = {"state": "ready", "role": ",".join(problem.roles), "handler": ",".join(problem.handlers)}
    sentence = f"No active worker of {_roles(problem)} has the {named}; {_wait(problem.number)}."
    advice = "Deploy a release with this handler, or cancel the tasks."
    return _trouble(problem, sentence, advice, which, _bulk("cancel", which))


def _hanging(problem: Problem) -> Alert:
    figures = problem.figures
    usual = _duration(figures["usual_seconds"])
    long = f"{_runs(problem.number)} for up to {_duration(problem.seconds or 0)}; usually such a task takes {usual}"
    behind = (
        f" {_tasks(figures['due'])} {_verb(figures['due'], 'waits', 'wait')} behind them." if figures["due"] else ""
    )
    full = figures["stuck_workers"]
    workers = f" {_workers(full)} {_verb(full, 'runs', 'run')} nothing else." if full else ""
    sentence = f"{_tasks(problem.number)} of {_roles(problem)} {long}.{workers}{behind}"
    which = {"state": "hanging"}
    advice = "Check what the handler waits for. Cancelled tasks free their slots."
    return _trouble(problem, sentence, advice, which, _bulk("cancel", which))


def _failing(problem: Problem) -> Alert:
    figures = problem.figures
    which = {
        "state": "failed",
        "role": ",".join(problem.roles),
        "handler": ",".join(problem.handlers),
        "finished_from": figures["from"],
        "finished_to": figures["to"],
    }
    error = f", most often with {figures['error']}" if figures["error"] else ""
    within = f"{problem.number:,} of {figures['ended']:,} tasks of {_roles(problem)} that ended within ten minutes"
    advice = f"Usually, {figures['usual_share']:.0%} fail. Fix the cause, and retry the tasks."
    return _trouble(problem, f"{within} failed{error}.", advice, which, _bulk("retry", which))


def _dead_workers(problem: Problem) -> Alert:
    sentence = f"{_named_workers(problem)} died: {_verb(problem.number, 'its process', 'their processes')} ended"
    advice = "Its tasks run again. Check whether the process was killed, for example for its use of memory."
    return _warning(problem, f"{sentence} without deregistering.", advice, _workers_path(problem))


def _silent_workers(problem: Problem) -> Alert:
    sentence = f"{_named_workers(problem)} {_verb(problem.number, 'has', 'have')} sent no heartbeat for a minute."
    advice = "Its tasks are rescued. Check whether its process is still running."
    return _warning(problem, sentence, advice, _workers_path(problem))


def _waiting(problem: Problem) -> Alert:
    usual = problem.figures["usual_seconds"]
    usually = f"; usually it takes {_duration(usual)} or less" if usual is not None else ""
    still = " None of them is running, and none has ended for a minute." if problem.figures["is_standstill"] else ""
    waited = f"the oldest for {_duration(problem.seconds or 0)}"
    sentence = (
        f"{_tasks(problem.number)} of {_roles(problem)} {_verb(problem.number, 'waits', 'wait')}, {waited}{usually}."
    )
    which = {"state": "ready", "role": ",".join(problem.roles)}
    write = _trouble if problem.figures["is_standstill"] else _warning
    advice = "Start more workers, or check what the present ones run."
    return write(problem, f"{sentence}{still}", advice, which, _capacity(problem))


def _growing(problem: Problem) -> Alert:
    before = f"{problem.figures['before']:,.0f}"
    grown = f"has grown from {before} to {problem.number:,} tasks within {_duration(problem.seconds or 0)}"
    which = {"state": "ready", "role": ",".join(problem.roles)}
    advice = "Start more workers, or enqueue less."
    return _warning(problem, f"The backlog of {_roles(problem)} {grown}.", advice, which, _capacity(problem))


def _backing_off(problem: Problem) -> Alert:
    why = f": {problem.figures['reason']}" if problem.number == 1 else ""
    sentence = f"{_named_workers(problem)} {_verb(problem.number, 'claims', 'claim')} no new tasks for now{why}."
    advice = "Give it fewer slots or more memory, or start another worker."
    return _warning(problem, sentence, advice, _workers_path(problem))


def _stalled_history(problem: Problem) -> Alert:
    sentence = (
        f"Nothing has been added to the history for {_duration(problem.seconds or 0)}: failures and growth are hidden."
    )
    advice = "Run a worker or a server with maintenance, and check for a transaction that has been open that long."
    return _warning(problem, sentence, advice, None)


def _paused(problem: Problem) -> Alert:
    by = f" by {problem.figures['by']}" if problem.figures["by"] else ""
    verb = _verb(len(problem.roles), "is", "are")
    sentence = f"{_capital(_roles(problem))} {verb} paused{by}; {_wait(problem.number)}."
    until = (
        "The pause ends automatically." if problem.figures["until"] else "Resume the role when its tasks can run again."
    )
    which = {"state": "ready", "role": ",".join(problem.roles)}
    return _warning(problem, sentence, until, which, AlertAction(label="Roles", path="/roles"))


WRITERS: Mapping[ProblemKind, Callable[[Problem], Alert]] = {
    ProblemKind.NO_WORKER: _no_worker,
    ProblemKind.NO_HANDLER: _no_handler,
    ProblemKind.HANGING: _hanging,
    ProblemKind.FAILING: _failing,
    ProblemKind.DEAD_WORKERS: _dead_workers,
    ProblemKind.SILENT_WORKERS: _silent_workers,
    ProblemKind.WAITING: _waiting,
    ProblemKind.GROWING: _growing,
    ProblemKind.BACKING_OFF: _backing_off,
    ProblemKind.STALLED_HISTORY: _stalled_history,
    ProblemKind.PAUSED: _paused,
}


def _alert(  # sizes: the parts of an alert
    severity: Severity,
    problem: Problem,
    sentence: str,
    advice: str,
    where: Mapping[str, str] | str | None,
    action: AlertAction | None = None,
) -> Alert:
    path = f"/tasks?{urlencode(where, safe=',:')}" if isinstance(where, Mapping) else where
    return Alert(
        severity=severity,
        sentence=sentence,
        advice=advice,
        kind=problem.kind,
        count=problem.number,
        since=problem.since,
        path=path,
        action=action,
    )


_trouble = partial(_alert, Severity.TROUBLE)
_warning = partial(_alert, Severity.WARNING)


def _bulk(verb: str, which: Mapping[str, str]) -> AlertAction:
    path = f"/tasks/bulk?{urlencode({'action': verb, **which}, safe=',:')}"
    return AlertAction(label=f"{_capital(verb)} all…", path=path)


def _capacity(problem: Problem) -> AlertAction:
    which = f"?role={quote(problem.roles[0])}" if len(problem.roles) == 1 else ""
    return AlertAction(label="Capacity", path=f"/capacity{which}")


def _workers_path(problem: Problem) -> str:
    return f"/admin/workers?{urlencode([('ids', worker) for worker in problem.workers])}"


def _named_workers(problem: Problem) -> str:
    return _capital(_names("worker", problem.figures["names"]))


def _roles(problem: Problem) -> str:
    return _names("role", problem.roles)


def _names(noun: str, names: Sequence[str]) -> str:
    """Return names as words: `role a`, `roles a, b`, `15 roles (a, b, c and 12 more)`."""
    if len(names) <= NAMED:
        return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"
    return f"{len(names)} {noun}s ({', '.join(names[:NAMED])} and {len(names) - NAMED} more)"


def _tasks(number: int) -> str:
    return f"{number:,} {_verb(number, 'task', 'tasks')}"


def _workers(number: int) -> str:
    return f"{number:,} {_verb(number, 'worker', 'workers')}"


def _wait(number: int) -> str:
    return f"{_tasks(number)} {_verb(number, 'waits', 'wait')}"


def _runs(number: int) -> str:
    return f"{_verb(number, 'has', 'have')} been running"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many


def _duration(seconds: float) -> str:
    for length, unit in UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1g} s"  # noqa: PLR2004 - two digits


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return _capital(text) + ("" if text.endswith((".", "?")) else ".")
