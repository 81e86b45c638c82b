-- Reject locations that cannot become stores, saying why.
update storecrawl.locations as location
set status = 'rejected',
    rejected_because = verdict.reason,
    needs_investigation = true
from unnest(%(ids)s::bigint[], %(reasons)s::text[]) as verdict (id, reason)
where location.id = verdict.id
