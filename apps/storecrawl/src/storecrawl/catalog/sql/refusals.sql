-- returns: a page of refusals, those of the newest payloads first; the next page is what was before its last one
select refusal.id, refusal.store_id, refusal.payload_id, refusal.record_index, refusal.external_id, refusal.option,
    refusal.reason, payload.fetched_at
from storecrawl.refusals as refusal
join storecrawl.payloads as payload on payload.id = refusal.payload_id
where (%(store_id)s::bigint is null or refusal.store_id = %(store_id)s)
    and (%(payload_id)s::bigint is null or refusal.payload_id = %(payload_id)s)
    and (%(before)s::bigint is null or refusal.id < %(before)s)
order by refusal.id desc
limit %(limit)s
