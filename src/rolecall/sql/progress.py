"""Typed calls for the progress of trees and roles."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from itertools import starmap

from rolecall.model.operator.live import RoleProgress
from rolecall.model.operator.progress import ChildCount, Fact, TreeParent
from rolecall.model.states import TaskState
from rolecall.sql.statement import Row, Statement, from_json

ROLE_COLUMNS = ", ".join(RoleProgress.__slots__)
TREE_COLUMNS = (
    "id, parent_id, depth, role, handler, state::text, begun, counting, serial, info::text, children_info::text, "
    "children::text, facts::text"
)


def tree(task_id: int) -> Statement[list[TreeParent]]:
    """Read the open parents of a tree with the numbers of their children, the root first; empty if there is no
    such task.
    """
    return Statement(
        query=f"select {TREE_COLUMNS} from rolecall.progress(%s::bigint)",
        params=(task_id,),
        read=lambda rows: list(map(_read_parent, rows)),
    )


def roles() -> Statement[list[RoleProgress]]:
    """Read the progress of each role, by name."""
    return Statement(
        query=f"select {ROLE_COLUMNS} from rolecall.role_progress()",
        read=lambda rows: list(starmap(RoleProgress, rows)),
    )


def _read_parent(row: Row) -> TreeParent:
    task_id, parent_id, depth, role, handler, state, begun, counting, serial, info, children_info, children, facts = row
    return TreeParent(
        id=task_id,
        parent_id=parent_id,
        depth=depth,
        role=role,
        handler=handler,
        state=TaskState(state),
        begun=begun,
        counting=counting,
        serial=serial,
        info=from_json(info),
        children_info=from_json(children_info),
        children=[ChildCount(**{**brood, "state": TaskState(brood["state"])}) for brood in from_json(children)],
        facts={name: Fact(**fact) for name, fact in from_json(facts).items()},
    )
