-- Carry what discovery saw over to the stores that came of it.
update storecrawl.stores as store
set name = coalesce(location.name, store.name),
    slug = coalesce(location.slug, store.slug),
    chain = coalesce(location.chain, store.chain),
    address = coalesce(location.address, store.address),
    city = coalesce(location.city, store.city),
    state = coalesce(location.state, store.state),
    postal_code = coalesce(location.postal_code, store.postal_code),
    country = coalesce(location.country, store.country),
    latitude = coalesce(location.latitude, store.latitude),
    longitude = coalesce(location.longitude, store.longitude),
    timezone = coalesce(location.timezone, store.timezone),
    menu_url = coalesce(location.menu_url, store.menu_url),
    recreational = coalesce(location.recreational, store.recreational),
    medical = coalesce(location.medical, store.medical),
    last_seen_at = greatest(store.last_seen_at, location.last_seen_at)
from storecrawl.locations as location
where location.store_id = store.id
    and location.platform_store_id = store.platform_store_id
    and location.platform_store_id = any(%(platform_store_ids)s)
    and store.id in (
        select renewed.id
        from storecrawl.stores as renewed
        where renewed.platform_store_id = any(%(platform_store_ids)s)
        order by renewed.platform_store_id
        for no key update
    )
