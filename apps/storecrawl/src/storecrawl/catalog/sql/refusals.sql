-- name: list_refusals
-- returns: a page of refusals, the newest payloads first, before the last one of the previous page
select refusal.id, refusal.store_id, refusal.payload_id, refusal.record_index, refusal.external_id, refusal.option,
    refusal.reason, payload.fetched_at
from storecrawl.refusals as refusal
join storecrawl.payloads as payload on payload.id = refusal.payload_id
where (%(store_id)s::bigint is null or refusal.store_id = %(store_id)s)
    and (%(payload_id)s::bigint is null or refusal.payload_id = %(payload_id)s)
    and (%(before)s::bigint is null or refusal.id < %(before)s)
order by refusal.id desc
limit %(limit)s


-- name: record_refusals
-- Replace the refusals of a payload, since only its last application counts.
-- returns: nothing
with forgotten as (
    delete from storecrawl.refusals
    where payload_id = %(payload_id)s
),
counted as (
    update storecrawl.payloads
    set refused_products = %(products)s, refused_options = %(options)s
    where id = %(payload_id)s
        and (refused_products, refused_options) is distinct from (%(products)s::integer, %(options)s::integer)
)
insert into storecrawl.refusals (store_id, payload_id, record_index, external_id, option, reason)
select %(store_id)s, %(payload_id)s, index, external_id, option, reason
from jsonb_to_recordset(%(refusals)s::jsonb) as refusal (index integer, external_id text, option text, reason text)


-- name: repeat_refusals
-- Copy the refusals of a payload to another with the same document.
-- returns: the products among them, by the platform's key
with repeated as (
    insert into storecrawl.refusals (store_id, payload_id, record_index, external_id, option, reason)
    select store_id, %(payload_id)s, record_index, external_id, option, reason
    from storecrawl.refusals
    where payload_id = %(repeated)s
    order by id
    returning external_id, option
)
select external_id
from repeated
where option is null
    and external_id is not null
