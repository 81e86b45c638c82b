-- name: list_stores
-- returns: a page of stores by id, after the last one of the previous page
select id, platform, platform_store_id, endpoint, name, slug, chain, city, state, country, timezone,
    recreational, medical,
    crawl_enabled, last_fetch_at, first_seen_at, last_seen_at, dark_since, same_id_finds,
    blocked_at, blocked_until, because as blocked_because
from storecrawl.stores
left join storecrawl.blocked_stores on store_id = id
where id > %(after)s
    and (%(state)s::text is null or state = %(state)s)
    and (%(pattern)s::text is null or concat_ws(' ', name, slug, chain, city) ilike %(pattern)s)
    and (%(platform)s::text is null or platform = %(platform)s)
    and (not %(blocked)s or store_id is not null)
    and (not %(dark)s or dark_since is not null)
order by id
limit %(limit)s


-- name: list_states
-- returns: the states that have stores, in order
select distinct state
from storecrawl.stores
where state is not null
order by state


-- name: list_ids
-- returns: the ids of all stores, in order
select id
from storecrawl.stores
order by id


-- name: names_of_stores
-- returns: the names of some stores
select id, name
from storecrawl.stores
where id = any(%(ids)s)


-- name: crawlable_stores
-- returns: ids of the stores that may be crawled, in order: all, those of a state, or those among the given
--          ids
select id
from storecrawl.stores
where crawl_enabled
    and platform is not null
    and platform_store_id is not null
    and (%(state)s::text is null or state = %(state)s)
    and (%(platform)s::text is null or platform = %(platform)s)
    and (%(ids)s::bigint[] is null or id = any(%(ids)s))
order by id


-- name: stores_due
-- A store whose last fetch is in the future is due, since that time was wrong.
-- returns: stores that may be fetched again, the longest unfetched first
select
    id, platform_store_id, slug, name, state,
    case when last_fetch_at <= clock_timestamp() then last_fetch_at end as last_fetch_at
from storecrawl.stores
where crawl_enabled
    and platform is not null
    and platform_store_id is not null
    and (%(platform)s::text is null or platform = %(platform)s)
    and (
        last_fetch_at is null
        or last_fetch_at > clock_timestamp()
        or last_fetch_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - %(interval)s::interval
    )
    and (%(state)s::text is null or state = %(state)s)
order by stores.last_fetch_at nulls first, id
limit %(limit)s::bigint


-- name: begin_fetch
-- Count a fetch that begins now.
-- returns: its number and its time
update storecrawl.stores
set fetches = fetches + 1
where id = %(store_id)s
returning fetches as sequence, clock_timestamp() as begun_at


-- name: count_future_fetches
-- returns: how many payloads have a fetch time in the future, in how many stores, and the latest one
select
    count(*) as payloads,
    count(distinct store_id) as stores,
    (array_agg(store_id order by fetched_at desc))[1] as store_id,
    max(fetched_at) as fetched_at
from storecrawl.payloads
where fetched_at > clock_timestamp()


-- name: figures_of_stores
-- Count the products on the menus of stores, their lowest and highest price, and the fetches. The menu of a dark store
-- does not count.
-- returns: a row for each of the given stores
select
    given.id as store_id, counted.products, counted.in_stock, priced.lowest_cents, priced.highest_cents,
    (select count(*) from storecrawl.payloads where store_id = given.id) as payloads
from unnest(%(ids)s::bigint[]) as given (id)
left join storecrawl.stores as light on light.id = given.id and light.dark_since is null
cross join lateral (
    select count(*) as products, count(*) filter (where in_stock) as in_stock
    from storecrawl.products
    where store_id = light.id
        and availability <> 'removed_from_menu'
) as counted
cross join lateral (
    select min(cents) as lowest_cents, max(cents) as highest_cents
    from storecrawl.products as product
    join storecrawl.variants as variant on variant.product_id = product.id and variant.listed
    cross join lateral (
        select coalesce(
            least(price_rec_cents, special_rec_cents), least(price_med_cents, special_med_cents)
        ) as cents
    ) as price
    where product.store_id = light.id
        and product.availability <> 'removed_from_menu'
) as priced


-- name: categories_of_store
-- returns: the categories of a store's menu, the largest first
select
    nullif(category, '') as category, brands, products, in_stock, variants, on_special,
    lowest_cents, average_cents, highest_cents, price_changes, price_changed_at
from storecrawl.store_category_statistics
where store_id = %(store_id)s
order by products desc, category


-- name: block_store
-- Block a store whose menu the upstream refuses, longer with each refusal in a row.
-- returns: for how many seconds
insert into storecrawl.blocked_stores as known (store_id, blocked_until, because)
values (%(store_id)s, clock_timestamp() + make_interval(secs => %(first)s), %(because)s)
on conflict (store_id) do update
set
    times = known.times + 1,
    blocked_until = clock_timestamp()
        + make_interval(secs => least(%(first)s * 2.0 ^ least(known.times, 30), %(longest)s)),
    because = excluded.because
returning extract(epoch from blocked_until - clock_timestamp())::double precision


-- name: count_blocked_stores
-- returns: how many of the stores that may be crawled are blocked, their total, and the time of the first
--          block
select
    count(*) filter (where blocked.store_id is not null) as blocked,
    count(*) as stores,
    min(blocked.blocked_at) as since,
    (array_agg(blocked.because order by blocked.blocked_at desc) filter (where blocked.store_id is not null))[1] as because
from storecrawl.stores as store
left join storecrawl.blocked_stores as blocked on blocked.store_id = store.id
where store.crawl_enabled
    and store.platform is not null
    and store.platform_store_id is not null


-- name: set_endpoint
-- Set the base URL at which a store answers; null is that of its chain or platform.
update storecrawl.stores
set endpoint = %(endpoint)s
where id = %(store_id)s


-- name: set_chain_endpoint
-- Set the base URL at which the stores of a chain answer.
insert into storecrawl.chain_endpoints (platform, chain, endpoint)
values (%(platform)s, %(chain)s, %(endpoint)s)
on conflict (platform, chain) do update
set endpoint = excluded.endpoint


-- name: remove_chain_endpoint
-- Remove the base URL of a chain.
delete from storecrawl.chain_endpoints
where platform = %(platform)s
    and chain = %(chain)s


-- name: store_to_crawl
-- returns: the address of an enabled store with a platform id
select store.id, store.platform, store.platform_store_id, store.slug, store.recreational, store.medical,
    store.same_id_finds, coalesce(store.endpoint, chain.endpoint) as endpoint
from storecrawl.stores as store
left join storecrawl.chain_endpoints as chain on chain.platform = store.platform and chain.chain = store.chain
where store.id = %(store_id)s
    and store.crawl_enabled
    and store.platform is not null
    and store.platform_store_id is not null


-- name: platform_of_store
-- returns: the platform of a store, null if unknown
select platform
from storecrawl.stores
where id = %(store_id)s


-- name: list_chain_endpoints
-- returns: the base URLs of chains, and how many stores each chain has on the platform
select known.platform, known.chain, known.endpoint,
    (
        select count(*)
        from storecrawl.stores as store
        where store.platform = known.platform
            and store.chain = known.chain
    ) as stores
from storecrawl.chain_endpoints as known
order by known.platform, known.chain
