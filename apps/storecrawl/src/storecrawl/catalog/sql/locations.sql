-- name: list_locations
-- returns: a page of locations by id, after the last one of the previous page
select location.id, location.platform, location.platform_store_id, location.endpoint, location.entry, location.status::text, location.problems,
    location.because, location.decided_by, location.decided_at, location.store_id, store.name as store_name,
    location.name, location.slug, location.chain, location.address, location.city, location.state,
    location.postal_code, location.country, location.latitude, location.longitude, location.timezone,
    location.menu_url, location.recreational, location.medical, location.first_seen_at, location.last_seen_at
from storecrawl.locations as location
left join storecrawl.stores as store on store.id = location.store_id
where location.id > %(after)s
    and (%(platform)s::text is null or location.platform = %(platform)s)
    and (%(status)s::storecrawl.location_status is null or location.status = %(status)s::storecrawl.location_status)
    and (%(state)s::text is null or location.state = %(state)s)
    and (%(city)s::text is null or lower(location.city) = lower(%(city)s))
    and (
        %(pattern)s::text is null
        or concat_ws(' ', location.name, location.slug, location.chain, location.city, location.platform_store_id,
            location.entry) ilike %(pattern)s
    )
order by location.id
limit %(limit)s


-- name: location_by_id
-- returns: one location with all that is known about it
select location.id, location.platform, location.platform_store_id, location.endpoint, location.entry, location.status::text, location.problems,
    location.because, location.decided_by, location.decided_at, location.store_id, store.name as store_name,
    location.name, location.slug, location.chain, location.address, location.city, location.state,
    location.postal_code, location.country, location.latitude, location.longitude, location.timezone,
    location.menu_url, location.recreational, location.medical, location.first_seen_at, location.last_seen_at
from storecrawl.locations as location
left join storecrawl.stores as store on store.id = location.store_id
where location.id = %(location_id)s


-- name: location_by_entry
-- returns: the last seen undisputed location with this id or slug, other than the given id
select id, platform_store_id, status::text, name, store_id
from storecrawl.locations
where platform = %(platform)s
    and (platform_store_id = %(entry)s or slug = %(entry)s)
    and platform_store_id is not null
    and platform_store_id is distinct from %(other_than)s
    and status in ('discovered', 'verified', 'linked')
order by last_seen_at desc, id desc
limit 1


-- name: promotions_of_location
-- returns: the decisions about a location, the latest first
select promotion.id, promotion.at, promotion.was::text, promotion.became::text, promotion.store_id,
    store.name as store_name, promotion.by, promotion.because
from storecrawl.promotions as promotion
left join storecrawl.stores as store on store.id = promotion.store_id
where promotion.location_id = %(location_id)s
order by promotion.id desc
limit %(limit)s


-- name: raw_of_location
-- returns: the platform's object of a location when last seen
select raw
from storecrawl.locations
where id = %(location_id)s


-- name: enter_locations
-- Record or update discovered locations; values missing this time keep their old state.
-- returns: how many were new
with seen as (
    select *
    from jsonb_to_recordset(%(locations)s::jsonb) as location (
        platform text, platform_store_id text, endpoint text, name text, slug text, chain text, address text, city text, state text,
        postal_code text, country text, latitude double precision, longitude double precision,
        timezone text, menu_url text, recreational boolean, medical boolean, raw jsonb
    )
),
written as (
    insert into storecrawl.locations as known (
        platform, platform_store_id, endpoint, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, raw
    )
    select
        platform, platform_store_id, endpoint, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, raw
    from seen
    order by platform, platform_store_id
    on conflict (platform, platform_store_id) do update
    set endpoint = coalesce(excluded.endpoint, known.endpoint),
        name = coalesce(excluded.name, known.name),
        slug = coalesce(excluded.slug, known.slug),
        chain = coalesce(excluded.chain, known.chain),
        address = coalesce(excluded.address, known.address),
        city = coalesce(excluded.city, known.city),
        state = coalesce(excluded.state, known.state),
        postal_code = coalesce(excluded.postal_code, known.postal_code),
        country = coalesce(excluded.country, known.country),
        latitude = coalesce(excluded.latitude, known.latitude),
        longitude = coalesce(excluded.longitude, known.longitude),
        timezone = coalesce(excluded.timezone, known.timezone),
        menu_url = coalesce(excluded.menu_url, known.menu_url),
        recreational = coalesce(excluded.recreational, known.recreational),
        medical = coalesce(excluded.medical, known.medical),
        raw = coalesce(excluded.raw, known.raw),
        last_seen_at = greatest(known.last_seen_at, clock_timestamp())
    returning (xmax = 0) as is_new
)
select count(*) filter (where is_new)
from written


-- name: renew_stores
-- Copy discovered values to the stores created from the locations.
with seen as (
    select platform, platform_store_id
    from jsonb_to_recordset(%(locations)s::jsonb) as location (platform text, platform_store_id text)
),
renewed as (
    select store.id
    from storecrawl.stores as store
    join seen using (platform, platform_store_id)
    order by store.platform, store.platform_store_id
    for no key update of store
)
update storecrawl.stores as store
set endpoint = coalesce(store.endpoint, location.endpoint),
    name = coalesce(location.name, store.name),
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
    and location.platform = store.platform
    and location.platform_store_id = store.platform_store_id
    and store.id in (select id from renewed)


-- name: locations_to_validate
-- returns: the locations that the rules decide about, locked in the order of their ids
select id, platform_store_id, status::text, name, slug, city, state, raw, store_id
from storecrawl.locations
where platform = %(platform)s
    and platform_store_id = any(%(platform_store_ids)s)
    and status in ('discovered', 'rejected', 'needs_investigation')
    and not rejected_by_person
order by platform_store_id
for update


-- name: reject_locations
-- Store the rules that locations do not meet, and reject the undecided ones.
update storecrawl.locations as location
set problems = verdict.problems,
    status = case when location.status = 'discovered' then 'rejected' else location.status end,
    because = case when location.status = 'needs_investigation' then location.because else verdict.because end,
    decided_by = case when location.status = 'discovered' then %(by)s else location.decided_by end,
    decided_at = case when location.status = 'discovered' then clock_timestamp() else location.decided_at end
from (
    select id, problems, array_to_string(problems, '; ') as because
    from jsonb_to_recordset(%(verdicts)s::jsonb) as given (id bigint, problems text[])
) as verdict
where location.id = verdict.id
    and (location.status = 'discovered' or location.problems <> verdict.problems)


-- name: restore_locations
-- Restore the previous status of locations under investigation that the platform knows again.
update storecrawl.locations as location
set status = case
        when (store.platform, store.platform_store_id) = (location.platform, location.platform_store_id) then 'verified'
        else 'linked'
    end::storecrawl.location_status,
    problems = '{}',
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
from storecrawl.stores as store
where location.id = any(%(ids)s)
    and location.status = 'needs_investigation'
    and store.id = location.store_id


-- name: reopen_locations
-- Reopen locations rejected by the rules that now meet them.
update storecrawl.locations
set status = 'discovered',
    problems = '{}',
    because = %(because)s,
    decided_by = %(by)s,
    decided_at = clock_timestamp()
where id = any(%(ids)s)
    and status = 'rejected'


-- name: promote_locations
-- Create stores from locations; a store with the same platform id is linked instead.
-- returns: id of each store and whether it is new
with promoted as (
    insert into storecrawl.stores as store (
        platform, platform_store_id, endpoint, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, first_seen_at, last_seen_at
    )
    select
        platform, platform_store_id, endpoint, name, slug, chain, address, city, state, postal_code, country,
        latitude, longitude, timezone, menu_url, recreational, medical, first_seen_at, last_seen_at
    from storecrawl.locations
    where id = any(%(ids)s)
        and status in ('discovered', 'needs_investigation')
        and store_id is null
    order by platform, platform_store_id
    on conflict (platform, platform_store_id) do update
    set last_seen_at = greatest(store.last_seen_at, excluded.last_seen_at)
    returning store.id, store.platform, store.platform_store_id, (xmax = 0) as is_new
),
linked as (
    update storecrawl.locations as location
    set status = case when promoted.is_new then 'verified' else 'linked' end::storecrawl.location_status,
        store_id = promoted.id,
        promoted_at = clock_timestamp(),
        because = %(because)s,
        decided_by = %(by)s,
        decided_at = clock_timestamp()
    from promoted
    where location.platform = promoted.platform
        and location.platform_store_id = promoted.platform_store_id
)
select id, is_new
from promoted
order by id
