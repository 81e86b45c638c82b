"""The navigation: its items, and which of them is the current one."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.operator.access import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationEntry:
    """A navigation item. `path` is the prefix of all its pages.

    `icon` is a name from templates/icons.html. Callers with less than `scope` do not see the item.
    """

    label: str
    path: str
    icon: str
    group: str = ""
    scope: Scope = Scope.READ


OWN_PAGES = (
    NavigationEntry(label="Overview", path="/", icon="overview"),
    NavigationEntry(label="Task queue", path="/tasks", icon="tasks", group="Work"),
    NavigationEntry(label="Errors", path="/errors", icon="warn", group="Work"),
    NavigationEntry(label="Chains", path="/chains", icon="chains", group="Work"),
    NavigationEntry(label="Job queue", path="/jobs", icon="jobs", group="Work"),
    NavigationEntry(label="Schedules", path="/schedules", icon="schedules", group="Work"),
    NavigationEntry(label="Workers", path="/admin/workers", icon="workers", group="Pool"),
    NavigationEntry(label="Roles", path="/roles", icon="roles", group="Pool"),
    NavigationEntry(label="Keys", path="/keys", icon="keys", group="Pool"),
    NavigationEntry(label="Capacity", path="/capacity", icon="capacity", group="Pool"),
    NavigationEntry(label="Changes", path="/changes", icon="audit", group="Pool", scope=Scope.OPERATE),
)


def current_entry(entries: tuple[NavigationEntry, ...], path: str) -> NavigationEntry | None:
    """Return the item with the longest prefix of the path. The overview matches only itself."""
    matching = [entry for entry in entries if path == entry.path or path.startswith(f"{entry.path.rstrip('/')}/")]
    exact = [entry for entry in matching if entry.path != "/" or path == "/"]
    return max(exact, key=lambda entry: len(entry.path), default=None)
