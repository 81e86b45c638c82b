-- name: find_products
-- Search the next products by name. At most a given number is read, however few match.
-- returns: ids of the matching ones, in order; if more may follow, the last one read
with passing as (
    select id, store_id, name, brand, availability, row_number() over () as place
    from (
        select id, store_id, name, brand, availability
        from storecrawl.products
        where (name, id) > (
                coalesce((select name from storecrawl.products where id = %(after)s), ''),
                coalesce(%(after)s::bigint, 0)
            )
        order by name, id
        limit %(most)s
    ) as next_ones
),
found as (
    select id, place
    from passing
    where (%(availability)s::text is null or availability = %(availability)s::text::storecrawl.availability)
        and (
            %(pattern)s::text is null
            or name ilike %(pattern)s
            or brand ilike %(pattern)s
            or store_id = any(array(select store.id from storecrawl.stores as store where store.name ilike %(pattern)s))
        )
    limit %(limit)s
)
select
    array(select id from found order by place) as ids,
    case
        when (select count(*) from found) = %(limit)s then (select id from found order by place desc limit 1)
        when (select count(*) from passing) = %(most)s then (select id from passing order by place desc limit 1)
    end as reached


-- name: find_products_of_store
-- Search a store's products by name.
-- returns: ids of the matching ones, in order; if more may follow, the last one read
with found as (
    select id, name
    from storecrawl.products
    where store_id = %(store_id)s
        and (name, id) > (
            coalesce((select name from storecrawl.products where id = %(after)s), ''),
            coalesce(%(after)s::bigint, 0)
        )
        and (%(availability)s::text is null or availability = %(availability)s::text::storecrawl.availability)
        and (%(pattern)s::text is null or name ilike %(pattern)s or brand ilike %(pattern)s)
    order by name, id
    limit %(limit)s
)
select
    array(select id from found order by name, id) as ids,
    case
        when (select count(*) from found) = %(limit)s then (select id from found order by name desc, id desc limit 1)
    end as reached


-- name: products_by_id
-- returns: a row for each of these products, in their order
select
    product.id, product.store_id, store.name as store_name, store.state, product.external_id, product.name,
    product.brand_id, product.brand, product.category, product.subcategory, product.strain_type,
    product.thc_lo, product.thc_hi, product.thc_unit, product.availability::text, product.in_stock,
    coalesce(priced.on_special, false) as on_special, priced.lowest_cents, priced.highest_cents,
    product.changed_at, sighting.seen_at as last_seen_at
from unnest(%(ids)s::bigint[]) with ordinality as chosen (id, place)
join storecrawl.products as product on product.id = chosen.id
join storecrawl.stores as store on store.id = product.store_id
join storecrawl.product_sightings as sighting on sighting.product_id = product.id
left join lateral (
    select lowest_cents, highest_cents, on_special
    from storecrawl.product_prices
    where product_id = chosen.id
) as priced on true
order by chosen.place


-- name: known_products
-- returns: the known ones of a store's products, by the platform's key
select external_id, id, brand, category
from storecrawl.products
where store_id = %(store_id)s
    and external_id = any(%(external_ids)s)


-- name: product_by_id
-- returns: one product
select
    product.id, product.store_id, store.name as store_name, product.external_id, product.slug, product.name, product.name_raw,
    product.brand_id, product.brand, product.category, product.category_raw, product.subcategory, product.strain_type,
    product.thc_lo, product.thc_hi, product.thc_unit, product.cbd_lo, product.cbd_hi, product.cbd_unit,
    product.description, product.image_url, product.availability, product.in_stock, product.listed_at,
    product.rec_only, product.medical_only, product.revised_at,
    product.consecutive_misses, product.first_seen_at, sighting.seen_at as last_seen_at, product.changed_at,
    sighting.payload_id as last_payload_id
from storecrawl.products as product
join storecrawl.stores as store on store.id = product.store_id
join storecrawl.product_sightings as sighting on sighting.product_id = product.id
where product.id = %(product_id)s


-- name: products_of_menu
-- returns: the known ones of a menu's products, and those last seen in the payload before it
select
    product.id, product.external_id, product.content_hash, product.catalog_version, product.availability::text,
    product.consecutive_misses, product.absent_from, product.first_seen_at, product.revised_at,
    current.product_id is not null as in_history,
    %(next)s::integer is not null and exists (
        select
        from storecrawl.product_history as history
        where history.product_id = product.id
            and (history.to_sequence > %(next)s or history.to_sequence is null)
    ) as is_newer
from storecrawl.products as product
left join storecrawl.product_history_current as current on current.product_id = product.id
where product.store_id = %(store_id)s
    and (product.external_id = any(%(external_ids)s) or product.absent_from is not distinct from %(next)s)


-- name: ids_of_store
-- returns: the ids of a store's products
select id
from storecrawl.products
where store_id = %(store_id)s


-- name: upsert_products
-- Write new and changed products completely. Callers leave out products written from newer payloads. A correction
-- is no change.
-- returns: id and external id of each
insert into storecrawl.products as known (
    store_id, external_id, slug, name, name_raw, brand_id, brand, brand_raw, brand_external_id,
    category, category_raw, subcategory, subcategory_raw, strain_type, strain_type_raw,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, description, image_url,
    availability, in_stock, listed_at, revised_at, rec_only, medical_only, content_hash, consecutive_misses,
    first_seen_at, changed_at, absent_from, catalog_version
)
select
    %(store_id)s, product.external_id, product.slug, product.name, name_raw,
    entered.id, product.brand, brand_raw, brand_external_id,
    category, category_raw, subcategory, subcategory_raw, strain_type, strain_type_raw,
    thc_lo, thc_hi, thc_unit, cbd_lo, cbd_hi, cbd_unit, description, image_url,
    availability, in_stock, listed_at, revised_at, rec_only, medical_only, decode(content_hash, 'hex'), misses,
    %(fetched_at)s, %(fetched_at)s, absent_from, %(catalog_version)s
from jsonb_to_recordset(%(products)s::jsonb) as product (
    external_id text, slug text, name text, name_raw text, brand text, brand_raw text, brand_external_id text,
    category text, category_raw text, subcategory text, subcategory_raw text,
    strain_type text, strain_type_raw text,
    thc_lo numeric, thc_hi numeric, thc_unit text, cbd_lo numeric, cbd_hi numeric, cbd_unit text,
    description text, image_url text, availability storecrawl.availability, in_stock boolean,
    listed_at timestamptz, revised_at timestamptz, rec_only boolean, medical_only boolean, content_hash text, misses integer,
    absent_from integer
)
left join storecrawl.brands as entered on entered.slug = storecrawl.brand_slug(product.brand)
order by product.external_id
on conflict (store_id, external_id) do update
set slug = excluded.slug,
    name = excluded.name,
    name_raw = excluded.name_raw,
    brand_id = excluded.brand_id,
    brand = excluded.brand,
    brand_raw = excluded.brand_raw,
    brand_external_id = excluded.brand_external_id,
    category = excluded.category,
    category_raw = excluded.category_raw,
    subcategory = excluded.subcategory,
    subcategory_raw = excluded.subcategory_raw,
    strain_type = excluded.strain_type,
    strain_type_raw = excluded.strain_type_raw,
    thc_lo = excluded.thc_lo,
    thc_hi = excluded.thc_hi,
    thc_unit = excluded.thc_unit,
    cbd_lo = excluded.cbd_lo,
    cbd_hi = excluded.cbd_hi,
    cbd_unit = excluded.cbd_unit,
    description = excluded.description,
    image_url = excluded.image_url,
    availability = excluded.availability,
    in_stock = excluded.in_stock,
    listed_at = excluded.listed_at,
    revised_at = excluded.revised_at,
    rec_only = excluded.rec_only,
    medical_only = excluded.medical_only,
    content_hash = excluded.content_hash,
    consecutive_misses = excluded.consecutive_misses,
    first_seen_at = least(known.first_seen_at, excluded.first_seen_at),
    changed_at = case
        when %(is_replay)s or known.content_hash = excluded.content_hash then known.changed_at
        else excluded.changed_at
    end,
    absent_from = excluded.absent_from,
    catalog_version = excluded.catalog_version
returning known.id, known.external_id


-- name: touch_products
-- Record that unchanged products were seen again, or revised. The platform's own time of change does not count as a
-- change.
update storecrawl.products as product
set revised_at = seen.revised_at,
    first_seen_at = least(first_seen_at, %(fetched_at)s),
    absent_from = seen.absent_from,
    consecutive_misses = seen.consecutive_misses
from jsonb_to_recordset(%(products)s::jsonb) as seen (
    id bigint, revised_at timestamptz, absent_from integer, consecutive_misses integer
)
where product.id = seen.id


-- name: touch_stale_products
-- Record an earlier sighting of products that newer payloads also contain.
update storecrawl.products
set first_seen_at = least(first_seen_at, %(fetched_at)s)
where id = any(%(ids)s)
    and first_seen_at > %(fetched_at)s


-- name: touch_refused_products
-- Record that absent products were seen which the payload contains but which could not be normalized.
update storecrawl.products
set first_seen_at = least(first_seen_at, %(fetched_at)s),
    absent_from = %(next)s,
    consecutive_misses = %(newer)s,
    availability = case
        when availability = 'removed_from_menu' and %(newer)s < %(threshold)s then 'unknown' else availability
    end
where store_id = %(store_id)s
    and external_id = any(%(external_ids)s)
    and absent_from <= %(sequence)s


-- name: leave_products
-- Record the first fetch without products since they were last seen.
update storecrawl.products
set absent_from = %(sequence)s
where id = any(%(ids)s)


-- name: count_misses
-- Count the complete payloads since each absent product was last seen. The count depends on the
-- history alone, so that a second run or another order of payloads has the same result. A product that
-- reaches the threshold is removed, and its count stays.
-- returns: id of each product whose count changed, and whether it was removed for it
with absent as (
    select id, absent_from
    from storecrawl.products
    where store_id = %(store_id)s
        and availability <> 'removed_from_menu'
        and absent_from is not null
    order by external_id
    for no key update
),
counted as (
    select
        absent.id,
        least(%(threshold)s, (
            select count(*)
            from storecrawl.payloads
            where store_id = %(store_id)s
                and complete
                and sequence >= absent.absent_from
        ))::integer as misses
    from absent
)
update storecrawl.products as product
set consecutive_misses = counted.misses,
    availability = case
        when counted.misses >= %(threshold)s then 'removed_from_menu' else product.availability
    end,
    in_stock = product.in_stock and counted.misses < %(threshold)s
from counted
where product.id = counted.id
    and product.consecutive_misses <> counted.misses
returning product.id, product.availability = 'removed_from_menu' as removed
