"""The table of commands: the summary of each, and where to import it from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["COMMANDS", "Noun", "Verb"]


@dataclass(frozen=True, slots=True)
class Verb:
    """A command: its name, `module.function` below `rolecall.cli.commands`, and the first paragraph of its help.

    `settings` names the groups of `rolecall.cli.options` that it accepts in addition to the common ones; `context` are
    typer's context settings.
    """

    name: str
    place: str
    says: str
    settings: tuple[str, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Noun:
    """A group of commands about one thing."""

    name: str
    says: str
    verbs: tuple[Verb, ...]


COMMANDS: tuple[Verb | Noun, ...] = (
    Verb(
        "up",
        "up.up",
        "Bring up the database, its schema, the schedules, the workers and the API; stay until SIGTERM.",
        settings=("WORKING", "NOTIFYING", "PROBING", "HTTP", "ACCESS"),
    ),
    Verb(
        "migrate",
        "migrate.migrate",
        "Bring the database to the schema of this release, and of an app, while workers work; again changes nothing.",
    ),
    Verb(
        "dsn",
        "database.dsn",
        "Print the address of the database, without its password: that of the embedded one stands in a file it names.",
    ),
    Verb(
        "psql",
        "database.psql",
        "Open the database in psql: that of the embedded server, else the one on the path; ends with its exit code.",
        context={"ignore_unknown_options": True},
    ),
    Verb(
        "worker",
        "worker.worker",
        "Claim and run tasks until SIGTERM, Ctrl-C or SIGHUP: then finish what runs, give back the rest, exit 0.",
        settings=("WORKING", "NOTIFYING", "PROBING"),
    ),
    Verb(
        "serve",
        "serve.serve",
        "Serve the API until SIGTERM, and fire schedules meanwhile.",
        settings=("NOTIFYING", "ACCESS"),
    ),
    Verb(
        "dispatch",
        "dispatch.dispatch",
        "Hand due tasks to workers by Redis until SIGTERM; `serve` and `up` do it, too.",
    ),
    Verb(
        "relay",
        "relay.relay",
        "Pass notifications on from Postgres to Redis or NATS until SIGTERM; `serve` and `up` do it, too.",
        settings=("NOTIFYING",),
    ),
    Verb(
        "health",
        "health.health",
        "Ask workers whether they are well, at their files or addresses; exit 1 if one is not.",
    ),
    Verb(
        "import",
        "import_.import_",
        "Print what stands here for code that was written for Celery, Procrastinate or RQ; nothing of it is run.",
    ),
    Verb("enqueue", "enqueue.enqueue", "Enqueue one task; with --wait, exit 0 only if it completes."),
    Verb("counts", "insight.counts", "Count the tasks by role and state."),
    Verb("overview", "insight.overview", "Show what is wrong, the pool's figures, and its roles."),
    Verb(
        "history",
        "insight.history",
        "Show what ended over time, how long it waited and ran (in seconds), and what was open.",
    ),
    Verb(
        "capacity",
        "capacity.capacity",
        "Show what each role has to do, what its workers manage, and when it will be done.",
    ),
    Verb(
        "live",
        "progress.roles",
        "Show how far the roles are: what is open, who waits longest, what ended within the last minute.",
    ),
    Verb("top", "top.top", "Watch roles, workers and failures as they change, until Ctrl-C."),
    Verb("replicas", "capacity.replicas", "Show how many pods of workers the cluster keeps."),
    Verb("scale", "capacity.scale", "Let the cluster keep N pods of workers."),
    Verb(
        "scale-target",
        "capacity.scale_target",
        "Show how many tasks of a role workers could be running now, as an autoscaler is told.",
    ),
    Verb("audit", "maintenance.audit", "Show who changed what, the latest first."),
    Verb(
        "doctor",
        "doctor.doctor",
        "Find what is wrong with the server and the workers; exits with 0 (fine), 1 (warnings) or 2 (trouble).",
        settings=("NOTIFYING",),
    ),
    Verb("extras", "extras.extras", "Show which extras of the package are installed, and what the others would bring."),
    Verb(
        "rescue",
        "maintenance.rescue",
        "Release the tasks whose workers died: pending again, or failed where no attempt is left.",
    ),
    Verb(
        "prune",
        "maintenance.prune",
        "Drop what is past its time: finished tasks and events, idle keys, workers that are gone, old audit rows.",
    ),
    Noun(
        "tasks",
        "List, show, retry, cancel, delete, complete and trigger tasks.",
        (
            Verb("list", "tasks.list_", "List tasks, open and finished, newest first."),
            Verb("show", "tasks.show", "Show one task with everything that happened to it."),
            Verb("why", "tasks.why", "Say why a task does not run, and what would change that."),
            Verb("tree", "tasks.tree", "Show a task with its children, their children, and how far they are."),
            Verb("needs", "tasks.needs", "Show what a task needs before it may run, and what became of that."),
            Verb(
                "attempts",
                "tasks.attempts",
                "Show each claim of a task: by which worker, when claimed, begun and ended, and how.",
            ),
            Verb("progress", "progress.tree", "Show how far a task and everything below it is, phase by phase."),
            Verb(
                "retry",
                "tasks.retry",
                "Put failed or cancelled tasks back, under their old ids; "
                "with ids, exit 0 only if all are pending again.",
            ),
            Verb(
                "cancel", "tasks.cancel", "Cancel tasks; a running one is told to stop. Finished ones stay as they are."
            ),
            Verb(
                "delete",
                "tasks.delete",
                "Delete tasks, each with its chain and all below it, "
                "unless its chain went on or something open needs it.",
            ),
            Verb(
                "complete",
                "tasks.complete",
                "Complete a task without a worker, in whatever open state it is; what is open below it is cancelled.",
            ),
            Verb("fail", "tasks.fail", "Fail a task without a worker, for good, in whatever open state it is."),
            Verb("trigger", "tasks.trigger", "Make pending tasks due now, all or none."),
            Verb(
                "token", "tasks.token", "Make a secret that ends a task from outside, once; nobody can read it again."
            ),
        ),
    ),
    Noun(
        "chains",
        "List, show, wait for, complete and delete chains.",
        (
            Verb("list", "chains.list_", "List chains, open and ended, newest first."),
            Verb("show", "chains.show", "Show one chain with its tasks."),
            Verb("wait", "chains.wait", "Wait for a chain to end; exit 0 only if its last task completes."),
            Verb(
                "blocking",
                "chains.blocking",
                "List the tasks that need a chain or a task of it, and whether they still wait for it.",
            ),
            Verb("complete", "chains.complete", "Complete the task with which a chain stands open, without a worker."),
            Verb(
                "delete",
                "chains.delete",
                "Delete chains with all that is below them, unless an open task needs one; "
                "ids of no chain are left out.",
            ),
        ),
    ),
    Noun(
        "roles",
        "List, pause and resume roles.",
        (
            Verb("list", "roles.list_", "List the roles and their settings."),
            Verb("pause", "roles.pause", "Let no task of a role begin; what runs goes on."),
            Verb("resume", "roles.resume", "End a role's pause."),
        ),
    ),
    Noun(
        "handlers",
        "List and show handlers, and reveal hidden values.",
        (
            Verb("list", "handlers.list_", "List the handlers by role; what stands empty is said by the role."),
            Verb("show", "handlers.show", "Show a handler with the JSON schema of its payload."),
            Verb("reveal", "handlers.reveal", "Show values again that only earlier declarations of a handler hid."),
        ),
    ),
    Noun(
        "key-capacities",
        "List, show, set and reset how many tasks of one key run at once.",
        (
            Verb(
                "list",
                "key_capacities.list_",
                "List the capacities of keys and patterns; of every other key one task runs at a time.",
            ),
            Verb(
                "show",
                "key_capacities.show",
                "Show one key: how many of its tasks run at once, which do, and how many wait.",
            ),
            Verb("set", "key_capacities.set_", "Let so many tasks of a key run at once, whatever the app declares."),
            Verb(
                "reset",
                "key_capacities.reset",
                "Take back what was set: the app's declaration counts again, "
                "else the longest pattern that fits, else one.",
            ),
        ),
    ),
    Noun(
        "workers",
        "List, show, drain, decommission and resume workers.",
        (
            Verb("list", "workers.list_", "List the workers that were heard of within five minutes."),
            Verb("show", "workers.show", "Show one worker and the tasks that it runs."),
            Verb("drain", "workers.drain", "Let a worker take no more tasks, finish what it runs, and stay."),
            Verb(
                "decommission",
                "workers.decommission",
                "Let a worker take no more tasks, finish what it runs, and leave for good.",
            ),
            Verb("resume", "workers.resume", "Take back what a worker was told: it claims again."),
        ),
    ),
    Noun(
        "schedules",
        "List, store, preview, trigger and delete schedules.",
        (
            Verb("list", "schedules.list_", "List the schedules by name."),
            Verb("show", "schedules.show", "Show all that is known of a schedule."),
            Verb("put", "schedules.put", "Store a new schedule, or change what is given of the one that stands."),
            Verb("trigger", "schedules.trigger", "Enqueue its task now; while that one is open, again gives the same."),
            Verb("preview", "schedules.preview", "Say when it runs next."),
            Verb("ahead", "schedules.ahead", "Say what all schedules bring within the next hours."),
            Verb("runs", "schedules.runs", "Say what became of its last runs, the latest first."),
            Verb("outcomes", "schedules.outcomes", "Count what became of its runs, as far as its history goes."),
            Verb("enable", "schedules.enable", "Let it fire from now on; what it missed meanwhile is not made up for."),
            Verb("disable", "schedules.disable", "Keep it from firing."),
            Verb("delete", "schedules.delete", "Forget a schedule; the tasks that it enqueued stay."),
        ),
    ),
    Noun(
        "keys",
        "Make, list and revoke API keys, with which programs come in over HTTP.",
        (
            Verb("create", "keys.create", "Make an API key; its secret is shown once, here."),
            Verb("list", "keys.list_", "List the API keys, the newest first; secrets are stored nowhere."),
            Verb("revoke", "keys.revoke", "Let an API key open nothing from now on."),
        ),
    ),
    Noun(
        "people",
        "Add, list, unlock and remove the people who log in over HTTP.",
        (
            Verb("add", "people.add", "Let a person log in; the password is asked for, or read from stdin."),
            Verb("list", "people.list_", "List who may log in."),
            Verb("remove", "people.remove", "Let a person log in no more, and end their sessions."),
            Verb(
                "password",
                "people.password",
                "Give a person another password, asked for or read from stdin, and end their sessions.",
            ),
            Verb("unlock", "people.unlock", "Let a person try to log in again at once, after too many failures."),
        ),
    ),
)
