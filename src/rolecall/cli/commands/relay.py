"""`rolecall relay`: forward Postgres notifications to a broker."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.cli.commands.worker import announce, command_line, secrets_of
from rolecall.cli.exits import Terminated, run_unwinding
from rolecall.cli.options import DATABASE, LOGGING
from rolecall.cli.shell import Shell
from rolecall.config.brokers import BrokerAddress
from rolecall.model.errors import ConfigError
from rolecall.service.notifications import relay_of
from rolecall.transport.choice import parse_notifications
from rolecall.worker.supervisor import Command

VARIABLE = "ROLECALL_NOTIFICATIONS"


def relay(shell: Shell) -> None:
    try:
        with shell.ready_database() as dsn:
            relaying = relay_of(dsn, shell.settings)
            if relaying is None:
                value = shell.settings.notifications
                problem = f"{value!r} needs no relay: set the address of a broker, such as redis://host:6379"
                raise ConfigError(problem, variable=VARIABLE, value=value)
            announce(shell, {"notifications": relaying.target})
            run_unwinding(relaying.run())
            problem = "notifications do not arrive through a pooler: set a direct address"
            raise ConfigError(problem, variable="ROLECALL_LISTEN_URL")
    except Terminated:
        return


def relay_beside_workers(shell: Shell) -> Sequence[Command]:
    """Return the command that starts a relay with these settings, if workers are notified by a broker."""
    if not isinstance(parse_notifications(shell.settings.notifications), BrokerAddress):
        return ()
    words = command_line(shell, "relay", None, [*DATABASE, *LOGGING])
    return [Command(name="The relay", arguments=words, environment=secrets_of(shell))]
