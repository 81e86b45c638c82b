"""Tells who watches what changes in the pool, at no cost to those who work in it.

Nothing is sent when a task is stored, claimed or finished: a NOTIFY there would take a lock at every commit. Instead
one looker a process asks the database, while somebody watches and never else, what has changed since it last asked:

    task look ──► changes since the last look ─┐
    role look ──► how far roles are ───────────┼──► each stream: what it wants, latest state only ──► its client
    tree look ──► how far asked-for trees are ─┘
        ▲
        │ a notification for idle workers hastens it; a quarter of a second to a second passes anyway

**What is promised.** Every change that commits after a stream was opened is told by an event, or covered by a
`reload`, which says that what the client shows may be out of date. Changes come at least once, as the task stands by
then: of several in a quarter of a second only the last is told. A task that is deleted is not told.

**Nothing that commits late is missed.** A transaction may write a time or an id long before its commit makes it
visible. Each look therefore reaches back to before the oldest transaction began that was under way in the look before
it (`Reach`), and what was told already is left out. A transaction that is older than that reach ends in a `reload`.

**Nobody can make it expensive.** Looks that take long are followed by pauses fifty times as long (`Rhythm`). A stream
holds at most a page of changes (`stream`): one whose client reads too slowly is told to reload, and dropped when it
does not read at all. When the database is away, the looker tries again until it is back, and goes on where it was.
"""

from __future__ import annotations

from rolecall.service.live.stream import Batch, Stream, Wanted
from rolecall.service.live.watch import Live

__all__ = ["Batch", "Live", "Stream", "Wanted"]
