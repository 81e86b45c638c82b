"""Typed calls for the outlines of trees and chains."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import starmap

from rolecall.model.operator.details import Ancestor, ExpandedPhase, NeedOfGroup, NeedWithin, OutlinePhase, SiblingGroup
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.sql.statement import Row, Statement, from_json
from rolecall.sql.tasks import SUMMARY_COLUMNS, read_summary

FEW = 12
MOST_NEEDS = 500
PHASE_COLUMNS = "parent_id, handler, number, first_id, states::text, named"


def phases(
    root_id: int, *, depth: int, most: int, unfolded: ExpandedPhase | None = None
) -> Statement[list[OutlinePhase]]:
    """Outline the tree below a task, down to `depth` levels, with at most `most` tasks shown individually."""
    at, handler = (unfolded.parent_id, unfolded.handler) if unfolded else (None, None)
    return Statement(
        query=f"select depth, {PHASE_COLUMNS} from rolecall.outline(%s::bigint, %s, %s, %s, %s::bigint, %s::text)",
        params=(root_id, depth, FEW, most, at, handler),
        read=lambda rows: [_read_phase(*row) for row in rows],
    )


def children(parents: Sequence[int], since: datetime) -> Statement[list[OutlinePhase]]:
    """Count the children of these tasks, all of which are newer than `since`; none is named."""
    return Statement(
        query=f"select 0, {PHASE_COLUMNS} from rolecall.phases_of(%s::bigint[], %s::timestamptz, 0, 0)",
        params=(list(parents), since),
        read=lambda rows: [_read_phase(*row) for row in rows],
    )


def sibling_groups(parents: Sequence[int], since: datetime) -> Statement[tuple[datetime, list[SiblingGroup]]]:
    """Read the children of these tasks by handler and state, the oldest first, and the database's time.

    All of the children must be newer than `since`.
    """
    return Statement(
        query=(
            "select clock.at, parent_id, handler, state::text, number, created_at, started_at, finished_at, slowest_id,"
            " slowest_seconds from (select rolecall.clock() as at) as clock"
            " left join rolecall.sibling_groups(%s::bigint[], %s::timestamptz) on true"
        ),
        params=(list(parents), since),
        read=lambda rows: (rows[0][0], [_read_group(*row[1:]) for row in rows if row[1] is not None]),
    )


def summaries(ids: Sequence[int]) -> Statement[dict[int, TaskSummary]]:
    """Read these tasks; deleted ones are omitted."""
    return Statement(
        query=(
            f"select {SUMMARY_COLUMNS} from unnest(%s::bigint[]) as given (id)"
            # By id, one at a time: a join would read all tasks.
            " cross join lateral (select * from rolecall.all_tasks as one where one.id = given.id offset 0) as task"
        ),
        params=(list(ids),),
        read=lambda rows: {row[0]: read_summary(row) for row in rows},
    )


def chain(chain_id: int, limit: int) -> Statement[list[TaskSummary]]:
    """Read the last tasks of a chain in order."""
    return Statement(
        query=(
            f"select {SUMMARY_COLUMNS} from rolecall.parts_of_chain(%s::bigint, null, %s::int) as part"
            # By id, one at a time: a join would read all tasks.
            " cross join lateral (select * from rolecall.all_tasks as one where one.id = part.id offset 0) as task"
            " order by task.chain_index"
        ),
        params=(chain_id, limit),
        read=lambda rows: list(map(read_summary, rows)),
    )


def needs_among(ids: Sequence[int]) -> Statement[list[NeedWithin]]:
    """List the needs between these tasks."""
    return Statement(
        query="select task_id, needed_id, whole_chain, outcome::text from rolecall.needs_among(%s::bigint[])",
        params=(list(ids),),
        read=lambda rows: list(map(_read_need, rows)),
    )


def needs_of_groups(ids: Sequence[int], parents: Sequence[int]) -> Statement[list[NeedOfGroup]]:
    """List the needs of these tasks for children of these parents, at most 500 needs in total."""
    return Statement(
        query=(
            "select need.task_id, need.needed_id, needed.parent_id, needed.handler, needed.state::text"
            " from rolecall.needs_of_tasks(%s::bigint[], %s::int) as need"
            " cross join lateral ("
            "select one.parent_id, one.handler, one.state from rolecall.all_tasks as one where one.id = need.needed_id"
            " offset 0) as needed where needed.parent_id = any(%s::bigint[])"
        ),
        params=(list(ids), MOST_NEEDS, list(parents)),
        read=lambda rows: list(map(_read_need_of_group, rows)),
    )


def ancestors(task_id: int) -> Statement[list[Ancestor]]:
    """List the ancestors of a task, the topmost first."""
    return Statement(
        query="select id, handler, state::text from rolecall.ancestors_of(%s::bigint)",
        params=(task_id,),
        read=lambda rows: list(starmap(_ancestor, rows)),
    )


def _read_phase(  # sizes: the columns
    depth: int, parent_id: int, handler: str, number: int, first_id: int, states: str, named: list[int]
) -> OutlinePhase:
    return OutlinePhase(
        parent_id=parent_id,
        depth=depth,
        handler=handler,
        number=number,
        first_id=first_id,
        states={TaskState(state): count for state, count in from_json(states).items()},
        named=named,
    )


def _read_group(  # sizes: the columns
    parent_id: int,
    handler: str,
    state: str,
    number: int,
    created_at: datetime,
    started_at: datetime | None,
    finished_at: datetime | None,
    slowest_id: int,
    slowest_seconds: float | None,
) -> SiblingGroup:
    return SiblingGroup(
        parent_id=parent_id,
        handler=handler,
        state=TaskState(state),
        number=number,
        created_at=created_at,
        started_at=started_at,
        finished_at=finished_at,
        slowest_id=slowest_id,
        slowest_seconds=slowest_seconds,
    )


def _read_need(row: Row) -> NeedWithin:
    task_id, needed_id, chain, outcome = row
    return NeedWithin(task_id=task_id, needed_id=needed_id, chain=chain, outcome=outcome and TaskState(outcome))


def _read_need_of_group(row: Row) -> NeedOfGroup:
    task_id, needed_id, parent_id, handler, state = row
    return NeedOfGroup(
        task_id=task_id, needed_id=needed_id, parent_id=parent_id, handler=handler, state=TaskState(state)
    )


def _ancestor(task_id: int, handler: str, state: str) -> Ancestor:
    return Ancestor(id=task_id, handler=handler, state=TaskState(state))
