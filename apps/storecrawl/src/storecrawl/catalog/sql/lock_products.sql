-- returns: what is known of a menu's products, locked in the order of their external ids
select id, external_id, content_hash, availability::text, consecutive_misses,
    first_seen_at, last_seen_at, last_fetched_at, last_payload_id
from storecrawl.products
where store_id = %(store_id)s
    and external_id = any(%(external_ids)s)
order by external_id
for no key update
