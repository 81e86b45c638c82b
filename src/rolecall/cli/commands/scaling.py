"""`rolecall replicas`, `scale` and `scale-target`: the number of workers in a cluster."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from rolecall.cli.output import print_facts
from rolecall.cli.shell import Shell
from rolecall.model.scaling import Replicas, Scaled


def replicas(shell: Shell) -> None:
    """Show how many pods of workers the cluster keeps."""
    found = shell.call(lambda services: services.scaling.replicas())
    shell.show(found, lambda: print_facts(_facts_of_replicas(found)))


def scale(shell: Shell, number: Annotated[int, Argument(min=0, metavar="N", help="How many pods.")]) -> None:
    """Let the cluster keep N pods of workers."""
    scaled = shell.call(lambda services: services.scaling.scale(number))
    shell.show(scaled, lambda: print_facts(_facts_of_change(scaled)))


def scale_target(shell: Shell, role: str) -> None:
    """Show how many tasks of a role workers could be running now, as an autoscaler is told."""
    target = shell.call(lambda services: services.scaling.target(role))
    shell.show(target, lambda: print_facts([("role", target.role), ("target", target.target)]))


def _facts_of_replicas(found: Replicas) -> list[tuple[str, object]]:
    return [
        ("set", f"{found.kind} {found.namespace}/{found.name}"),
        ("current", found.current),
        ("desired", found.desired),
        ("ready", found.ready),
        ("bounds", f"{found.least} to {found.most}"),
    ]


def _facts_of_change(scaled: Scaled) -> list[tuple[str, object]]:
    return [
        ("desired", f"{scaled.desired}, was {scaled.previous}"),
        ("leaving", ", ".join(scaled.leaving) or None),
        ("not marked", scaled.unmarked),
    ]
