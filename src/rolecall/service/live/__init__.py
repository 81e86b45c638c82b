"""Live updates for viewers, at no cost for the workers.

Storing, claiming and finishing tasks sends nothing, because a NOTIFY takes a lock at every commit. Instead, while there
are viewers, one poller per process queries the database for changes:

    task look ──► changes since the last look ──┐
    role look ──► counts of roles ──────────────┼──► each stream: requested items, latest state only ──► its client
    tree look ──► progress of requested trees ──┘

A look follows after a quarter of a second to a second. Notifications for idle workers hasten it.

**Delivery.** Every change that commits after a stream was opened causes an event, or a `reload`, which says that the
client's data may be out of date. Events arrive at least once and contain the latest state. Deletions cause no event.

**Late commits.** A transaction may write a time or an id long before it commits. Each look therefore goes back to the
start of the oldest transaction that was open in the previous look (`Reach`), and skips changes that were already sent.
A transaction older than that ends in a `reload`.

**Cost.** Slow looks are followed by pauses fifty times as long (`Rhythm`). A stream buffers at most one page of
changes: a slow client receives a `reload`, and one that does not read is dropped. After an outage of the database, the
poller continues where it was.
"""

from __future__ import annotations

from rolecall.service.live.stream import Batch, Stream, Subscription
from rolecall.service.live.watch import Live

__all__ = ["Batch", "Live", "Stream", "Subscription"]
