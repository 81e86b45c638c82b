-- Note that products were seen again unchanged.
update storecrawl.products
set last_seen_at = greatest(last_seen_at, %(fetched_at)s),
    last_fetched_at = %(fetched_at)s,
    last_payload_id = %(payload_id)s,
    consecutive_misses = case when last_seen_at > %(fetched_at)s then consecutive_misses else %(newer)s end
where id = any(%(ids)s)
    and last_payload_id <> %(payload_id)s
