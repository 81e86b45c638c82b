"""The way around: which pages stand in the list at the side, and which of them is the one shown."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.access import Scope

__all__ = ["OWN_PAGES", "NavigationEntry", "current_entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationEntry:
    """A page in the list at the side; `path` begins those of all pages that belong to it.

    `icon` is a name of templates/icons.html. Who has less than `scope` does not see it.
    """

    label: str
    path: str
    icon: str
    group: str = ""
    scope: Scope = Scope.READ


OWN_PAGES = (
    NavigationEntry(label="Overview", path="/", icon="overview"),
    NavigationEntry(label="Task queue", path="/tasks", icon="tasks", group="Work"),
    NavigationEntry(label="Chains", path="/chains", icon="chains", group="Work"),
    NavigationEntry(label="Job queue", path="/jobs", icon="jobs", group="Work"),
    NavigationEntry(label="Schedules", path="/schedules", icon="schedules", group="Work"),
    NavigationEntry(label="Workers", path="/admin/workers", icon="workers", group="Pool"),
    NavigationEntry(label="Roles", path="/roles", icon="roles", group="Pool"),
    NavigationEntry(label="Keys", path="/keys", icon="keys", group="Pool"),
    NavigationEntry(label="Capacity", path="/capacity", icon="capacity", group="Pool"),
    NavigationEntry(label="Audit log", path="/audit", icon="audit", group="Pool", scope=Scope.ADMIN),
)


def current_entry(entries: tuple[NavigationEntry, ...], path: str) -> NavigationEntry | None:
    """Return the entry whose path begins this one, the longest of them; the overview's only for itself."""
    matching = [entry for entry in entries if path == entry.path or path.startswith(f"{entry.path.rstrip('/')}/")]
    exact = [entry for entry in matching if entry.path != "/" or path == "/"]
    return max(exact, key=lambda entry: len(entry.path), default=None)
