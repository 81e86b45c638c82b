-- Products that the payload holds but that could not be normalized are there, whatever they are.
update storecrawl.products
set last_seen_at = %(fetched_at)s,
    consecutive_misses = %(newer)s,
    availability = case
        when availability = 'removed_from_menu' and %(newer)s < %(threshold)s then 'unknown' else availability
    end
where store_id = %(store_id)s
    and external_id = any(%(external_ids)s)
    and last_seen_at < %(fetched_at)s
