-- A payload that is byte by byte what its store's last one was repeats it: what it had stands there.
-- breaking: no

alter table storecrawl.payloads
    add column normalizer text,
    add column repeats bigint references storecrawl.payloads (id),
    add constraint what_repeats_another_is_applied check (repeats is null or (repeats <> id and applied_at is not null));

comment on column storecrawl.payloads.normalizer is 'What tells the code that normalized it when it was first applied from any other.';
comment on column storecrawl.payloads.repeats is
    'The first of the payloads in a row that have this very document: its snapshots are those of each of them.';

-- As the snapshots of a payload that repeats another are kept with that one, these tell what each payload had.
create view storecrawl.captured_products with (security_invoker = true) as
select
    payload.id as payload_id, snapshot.product_id, snapshot.store_id, payload.fetched_at as captured_at,
    snapshot.name, snapshot.brand, snapshot.category, snapshot.subcategory, snapshot.strain_type,
    snapshot.thc_lo, snapshot.thc_hi, snapshot.thc_unit, snapshot.cbd_lo, snapshot.cbd_hi, snapshot.cbd_unit,
    snapshot.availability, snapshot.in_stock
from storecrawl.payloads as payload
join storecrawl.product_snapshots as snapshot on snapshot.payload_id = coalesce(payload.repeats, payload.id);

create view storecrawl.captured_variants with (security_invoker = true) as
select
    payload.id as payload_id, snapshot.product_id, snapshot.option, payload.fetched_at as captured_at,
    snapshot.price_rec_cents, snapshot.price_med_cents, snapshot.special_rec_cents, snapshot.special_med_cents,
    snapshot.quantity, snapshot.quantity_capped, snapshot.in_stock
from storecrawl.payloads as payload
join storecrawl.variant_snapshots as snapshot on snapshot.payload_id = coalesce(payload.repeats, payload.id);

comment on view storecrawl.captured_products is 'Each product as each crawl payload had it.';
comment on view storecrawl.captured_variants is 'Each option as each crawl payload had it.';
comment on table storecrawl.product_snapshots is
    'Each product as a crawl payload had it, and those that repeat the payload; read captured_products.';
comment on table storecrawl.variant_snapshots is
    'Each option as a crawl payload had it, and those that repeat the payload; read captured_variants.';

drop materialized view storecrawl.price_history_by_day;

create materialized view storecrawl.price_history_by_day as
select distinct on (product_id, option, utc.day)
    product_id,
    option,
    utc.day,
    price_rec_cents,
    price_med_cents,
    special_rec_cents,
    special_med_cents,
    in_stock,
    captured_at
from storecrawl.captured_variants
cross join lateral (select (captured_at at time zone 'UTC')::date as day) as utc
order by product_id, option, utc.day, captured_at desc, payload_id desc;

create unique index price_history_by_day_key on storecrawl.price_history_by_day (product_id, option, day);

comment on materialized view storecrawl.price_history_by_day is 'The last captured prices of each option on each UTC day.';
