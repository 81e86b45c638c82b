"""The table of commands: the summary of each, and where to import it from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verb:
    """A command: its name, `module.function` below `rolecall.cli.commands`, and the first paragraph of its help.

    `settings` names the groups of `rolecall.cli.options` that it accepts in addition to the common ones; `context` are
    typer's context settings.
    """

    name: str
    place: str
    summary: str
    settings: tuple[str, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Noun:
    """A group of commands about one thing."""

    name: str
    summary: str
    verbs: tuple[Verb, ...]


COMMANDS: tuple[Verb | Noun, ...] = (
    Verb(
        "up",
        "up.up",
        "Start everything and run until SIGTERM: database, migrations, schedules, workers and the API.",
        settings=("WORKING", "NOTIFYING", "PROBING", "HTTP", "ACCESS"),
    ),
    Verb(
        "migrate",
        "migrate.migrate",
        "Migrate the database to this release, and to an app's migrations, while workers run. Idempotent.",
    ),
    Verb(
        "dsn",
        "database.dsn",
        "Print the address of the database. It names a passfile for the embedded server, and no password.",
    ),
    Verb(
        "psql",
        "database.psql",
        "Open the database in psql, that of the embedded server or on the PATH, and exit with its code.",
        context={"ignore_unknown_options": True},
    ),
    Verb(
        "worker",
        "worker.worker",
        "Claim and run tasks until SIGTERM, Ctrl-C or SIGHUP; then finish running tasks and return the others.",
        settings=("WORKING", "NOTIFYING", "PROBING"),
    ),
    Verb(
        "serve",
        "serve.serve",
        "Serve the API and fire schedules until SIGTERM.",
        settings=("NOTIFYING", "ACCESS", "POOLS"),
    ),
    Verb(
        "dispatch",
        "dispatch.dispatch",
        "Push due tasks to Redis until SIGTERM. `serve` and `up` do this as well.",
    ),
    Verb(
        "relay",
        "relay.relay",
        "Forward Postgres notifications to Redis or NATS until SIGTERM. `serve` and `up` do this as well.",
        settings=("NOTIFYING",),
    ),
    Verb(
        "health",
        "health.health",
        "Check the health of workers by file or URL; exit with 1 if any is unhealthy.",
    ),
    Verb(
        "import",
        "import_.import_",
        "Print the equivalent of code written for Celery, Procrastinate or RQ, without running that code.",
    ),
    Verb("enqueue", "enqueue.enqueue", "Enqueue one task; with --wait, exit with 0 only if it completes."),
    Verb("counts", "insight.counts", "Count tasks by role and state."),
    Verb("overview", "insight.overview", "Show current problems, key figures and roles."),
    Verb(
        "history",
        "insight.history",
        "Show finished tasks over time, their waiting and running times (in seconds), and open tasks.",
    ),
    Verb(
        "capacity",
        "capacity.capacity",
        "Show the load of each role, the throughput of its workers, and when its backlog will be done.",
    ),
    Verb(
        "live",
        "progress.roles",
        "Show the open tasks of each role, its oldest waiting task, and those finished in the last minute.",
    ),
    Verb("top", "top.top", "Watch roles, workers and failures until Ctrl-C."),
    Verb("replicas", "capacity.replicas", "Show the number of worker pods in the cluster."),
    Verb("scale", "capacity.scale", "Set the number of worker pods in the cluster."),
    Verb(
        "scale-target",
        "capacity.scale_target",
        "Show how many tasks of a role could run now, the value for an autoscaler.",
    ),
    Verb("audit", "maintenance.audit", "Show the audit log, latest changes first."),
    Verb(
        "doctor",
        "doctor.doctor",
        "Find problems of the server and the workers; exit with 0 (fine), 1 (warnings) or 2 (trouble).",
        settings=("NOTIFYING",),
    ),
    Verb("extras", "extras.extras", "Show which extras are installed, and what the others provide."),
    Verb(
        "rescue",
        "maintenance.rescue",
        "Release the tasks of dead workers: they become pending again, or fail if no attempt is left.",
    ),
    Verb(
        "prune",
        "maintenance.prune",
        "Delete expired records: finished tasks, events, unused keys, stopped workers, old audit entries.",
    ),
    Noun(
        "tasks",
        "List, show, retry, cancel, delete, complete and trigger tasks.",
        (
            Verb("list", "tasks.list_", "List tasks, open and finished, newest first."),
            Verb("show", "tasks.show", "Show a task with its history."),
            Verb("why", "tasks.why", "Show why a task does not run, and what would change that."),
            Verb("tree", "tasks.tree", "Show a task with everything below it, and how much has finished."),
            Verb("needs", "tasks.needs", "Show the needs of a task and their outcomes."),
            Verb(
                "attempts",
                "tasks.attempts",
                "Show each claim of a task: its worker, its times and its outcome.",
            ),
            Verb("logs", "logs.show", "Show the log lines of a task; --follow waits for more."),
            Verb("stack", "logs.stack", "Show where the handler of a running task is now."),
            Verb("progress", "progress.tree", "Show the progress of a task and everything below it, by phase."),
            Verb(
                "retry",
                "tasks.retry",
                "Make failed or cancelled tasks pending again; with ids, exit with 0 only if all of them are.",
            ),
            Verb("cancel", "tasks.cancel", "Cancel open tasks, and stop running ones."),
            Verb(
                "delete",
                "tasks.delete",
                "Delete tasks with their chains and all below, unless the chain continued or an open task needs it.",
            ),
            Verb(
                "complete",
                "tasks.complete",
                "Complete an open task without a worker. Open tasks below it are cancelled.",
            ),
            Verb("fail", "tasks.fail", "Fail an open task permanently, without a worker."),
            Verb("trigger", "tasks.trigger", "Make pending tasks due now, all or none."),
            Verb(
                "token",
                "tasks.token",
                "Create a completion token, which can finish a task from outside, once. It is shown only here.",
            ),
        ),
    ),
    Noun(
        "chains",
        "List, show, wait for, complete and delete chains.",
        (
            Verb("list", "chains.list_", "List chains, open and finished, newest first."),
            Verb("show", "chains.show", "Show a chain with its tasks."),
            Verb("wait", "chains.wait", "Wait for a chain to finish; exit with 0 only if its last task completes."),
            Verb(
                "blocking",
                "chains.blocking",
                "List the tasks that need a chain or one of its tasks, and whether they still wait for it.",
            ),
            Verb("complete", "chains.complete", "Complete the open task of a chain, without a worker."),
            Verb(
                "delete",
                "chains.delete",
                "Delete chains with everything below them, unless an open task needs one. Unknown ids are ignored.",
            ),
        ),
    ),
    Noun(
        "errors",
        "List error groups, mute and resolve them, and retry their tasks.",
        (
            Verb("list", "errors.list_", "List error groups, those with the latest failures first."),
            Verb("show", "errors.show", "Show an error group with the text of its latest error."),
            Verb("mute", "errors.mute", "Mute an error group: it stays out of the list of new errors."),
            Verb("resolve", "errors.resolve", "Resolve an error group. It is new again if it fails after that."),
            Verb("reopen", "errors.reopen", "Make an error group new again."),
            Verb(
                "retry",
                "errors.retry",
                "Start a bulk action that retries the failed tasks of an error group; --dry-run only counts them.",
            ),
        ),
    ),
    Noun(
        "views",
        "Save queries of tasks under a name, for everyone: the dashboard lists them above its tasks.",
        (
            Verb("list", "views.list_", "List the saved views by name."),
            Verb("save", "views.save", "Save a query under a new name."),
            Verb("change", "views.change", "Give a saved view another name, another query, or both."),
            Verb("delete", "views.delete", "Delete a saved view."),
        ),
    ),
    Noun(
        "bulk",
        "Retry, cancel or delete all tasks that match a filter, in the background.",
        (
            Verb("preview", "bulk.preview", "Count the tasks that a bulk action would change."),
            Verb("start", "bulk.start", "Start a bulk action on all tasks that match a filter and exist now."),
            Verb("list", "bulk.list_", "List bulk actions, newest first."),
            Verb("show", "bulk.show", "Show a bulk action with its progress."),
            Verb("stop", "bulk.stop", "Stop a bulk action, or withdraw it if it has not started."),
        ),
    ),
    Noun(
        "roles",
        "List, pause and resume roles.",
        (
            Verb("list", "roles.list_", "List roles and their settings."),
            Verb("pause", "roles.pause", "Pause a role: none of its tasks start. Running tasks continue."),
            Verb("resume", "roles.resume", "End a role's pause."),
        ),
    ),
    Noun(
        "handlers",
        "List and show handlers, and reveal redacted values.",
        (
            Verb("list", "handlers.list_", "List handlers by role. Empty columns use the setting of the role."),
            Verb("show", "handlers.show", "Show a handler with the JSON schema of its payload."),
            Verb("reveal", "handlers.reveal", "Reveal values that only earlier declarations of a handler redacted."),
        ),
    ),
    Noun(
        "key-capacities",
        "List, show, set and reset how many tasks of a key can run at once.",
        (
            Verb(
                "list",
                "key_capacities.list_",
                "List the capacities of keys and patterns. All other keys have a capacity of 1.",
            ),
            Verb(
                "show",
                "key_capacities.show",
                "Show a key: its capacity, the tasks that hold it, and how many wait.",
            ),
            Verb("busiest", "key_capacities.busiest", "List the keys for which most due tasks wait."),
            Verb(
                "set", "key_capacities.set_", "Set the capacity of a key or pattern, overriding the app's declaration."
            ),
            Verb(
                "reset",
                "key_capacities.reset",
                "Reset a capacity: the app's declaration applies again, or the longest matching pattern, or 1.",
            ),
        ),
    ),
    Noun(
        "workers",
        "List, show, drain, decommission and resume workers.",
        (
            Verb("list", "workers.list_", "List the active workers."),
            Verb("show", "workers.show", "Show a worker and its running tasks."),
            Verb(
                "drain",
                "workers.drain",
                "Drain a worker: it finishes its running tasks and claims no new ones, but does not exit.",
            ),
            Verb(
                "decommission",
                "workers.decommission",
                "Decommission a worker: it finishes its running tasks, claims no new ones, and exits.",
            ),
            Verb("resume", "workers.resume", "Revoke a command to a worker, so that it claims tasks again."),
        ),
    ),
    Noun(
        "schedules",
        "List, store, preview, trigger and delete schedules.",
        (
            Verb("list", "schedules.list_", "List schedules by name."),
            Verb("show", "schedules.show", "Show a schedule with all of its settings."),
            Verb("put", "schedules.put", "Create a schedule, or change the given settings of an existing one."),
            Verb(
                "trigger",
                "schedules.trigger",
                "Enqueue a schedule's task now. While that task is open, return the same one.",
            ),
            Verb("preview", "schedules.preview", "Show the next fire times of a schedule."),
            Verb("ahead", "schedules.ahead", "Show the fire times of all schedules in the next hours."),
            Verb("runs", "schedules.runs", "Show the last runs of a schedule and their outcomes, latest first."),
            Verb("outcomes", "schedules.outcomes", "Count the outcomes of a schedule's runs in its history."),
            Verb(
                "enable", "schedules.enable", "Enable a schedule. Fire times missed while it was disabled are skipped."
            ),
            Verb("disable", "schedules.disable", "Disable a schedule."),
            Verb("delete", "schedules.delete", "Delete a schedule. The tasks that it enqueued are kept."),
        ),
    ),
    Noun(
        "keys",
        "Create, list and revoke API keys for programs that use the HTTP API.",
        (
            Verb("create", "keys.create", "Create an API key. Its secret is shown only once."),
            Verb("list", "keys.list_", "List API keys, newest first. Their secrets are not stored."),
            Verb("revoke", "keys.revoke", "Revoke an API key."),
        ),
    ),
    Noun(
        "people",
        "Add, list, unlock and remove the people who log in over HTTP.",
        (
            Verb("add", "people.add", "Add a person. The password is prompted for, or read from stdin."),
            Verb("list", "people.list_", "List the people who can log in."),
            Verb("remove", "people.remove", "Remove a person and end their sessions."),
            Verb(
                "password",
                "people.password",
                "Change a person's password (prompted for, or read from stdin) and end their sessions.",
            ),
            Verb("unlock", "people.unlock", "Unlock a person who is locked out after too many failed logins."),
        ),
    ),
)
