"""The navigation: its items, and which of them is the current one."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.operator.access import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationPart:
    """A page below a navigation item. `path` is the prefix of all its pages; without a label, it has no link."""

    path: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationEntry:
    """A navigation item. `path` is the prefix of all its pages, and `parts` are pages with other paths.

    `icon` is a name from templates/icons.html. Callers with less than `scope` do not see the item.
    """

    label: str
    path: str
    icon: str
    group: str = ""
    scope: Scope = Scope.READ
    parts: tuple[NavigationPart, ...] = ()


OWN_PAGES = (
    NavigationEntry(label="Now", path="/", icon="overview"),
    NavigationEntry(
        label="Tasks",
        path="/tasks",
        icon="tasks",
        parts=(
            NavigationPart(label="Chains", path="/chains"),
            NavigationPart(label="New task", path="/jobs"),
            NavigationPart(path="/views"),
        ),
    ),
    NavigationEntry(label="Errors", path="/errors", icon="warn"),
    NavigationEntry(
        label="Roles",
        path="/roles",
        icon="roles",
        parts=(
            NavigationPart(label="Capacity", path="/capacity"),
            NavigationPart(label="Keys", path="/keys"),
            NavigationPart(path="/handlers"),
        ),
    ),
    NavigationEntry(label="Schedules", path="/schedules", icon="schedules"),
    NavigationEntry(label="Workers", path="/admin/workers", icon="workers"),
    NavigationEntry(label="Changes", path="/changes", icon="audit", scope=Scope.OPERATE),
)


def current_entry(entries: tuple[NavigationEntry, ...], path: str) -> NavigationEntry | None:
    """Return the item with the longest prefix of the path. The first page matches only itself."""
    prefixes = [(prefix, entry) for entry in entries for prefix in (entry.path, *(part.path for part in entry.parts))]
    matching = [(prefix, entry) for prefix, entry in prefixes if _contains(prefix, path)]
    return max(matching, key=lambda each: len(each[0]), default=(None, None))[1]


def tabs_of(entry: NavigationEntry | None, path: str) -> tuple[NavigationPart, ...]:
    """Return the links above a page that is an item's own or one of its parts; none on other pages."""
    if entry is None or not entry.parts:
        return ()
    own = NavigationPart(label=entry.label, path=entry.path)
    tabs = tuple(part for part in (own, *entry.parts) if part.label)
    return tabs if path in {part.path for part in tabs} else ()


def _contains(prefix: str, path: str) -> bool:
    return path == prefix or (prefix != "/" and path.startswith(f"{prefix.rstrip('/')}/"))
