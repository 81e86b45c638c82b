-- Note that products, of which newer payloads tell more, were already there earlier.
update storecrawl.products
set first_seen_at = least(first_seen_at, %(fetched_at)s)
where id = any(%(ids)s)
    and first_seen_at > %(fetched_at)s
