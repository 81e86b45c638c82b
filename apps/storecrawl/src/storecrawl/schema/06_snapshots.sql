-- A snapshot of products and options for each crawl payload.

create table storecrawl.product_snapshots (
    payload_id   bigint not null references storecrawl.payloads (id),
    product_id   bigint not null references storecrawl.products (id),
    store_id     bigint not null references storecrawl.stores (id),
    captured_at  timestamptz not null,
    name         text not null,
    brand        text,
    category     text,
    subcategory  text,
    strain_type  text,
    thc_lo       numeric(9, 3),
    thc_hi       numeric(9, 3),
    thc_unit     text,
    cbd_lo       numeric(9, 3),
    cbd_hi       numeric(9, 3),
    cbd_unit     text,
    availability storecrawl.availability not null,
    in_stock     boolean not null,

    constraint one_snapshot_per_payload_and_product primary key (payload_id, product_id)
);

comment on table storecrawl.product_snapshots is
    'Each product in a crawl payload and in its repeats. Read captured_products instead.';

create index product_snapshots_by_product on storecrawl.product_snapshots (product_id, captured_at desc);

create table storecrawl.variant_snapshots (
    payload_id        bigint not null references storecrawl.payloads (id),
    product_id        bigint not null references storecrawl.products (id),
    option            text not null,
    captured_at       timestamptz not null,
    price_rec_cents   integer,
    price_med_cents   integer,
    special_rec_cents integer,
    special_med_cents integer,
    quantity          integer,
    quantity_capped   boolean not null,
    in_stock          boolean not null,

    constraint one_snapshot_per_payload_and_option primary key (payload_id, product_id, option)
);

comment on table storecrawl.variant_snapshots is
    'Each option in a crawl payload and in its repeats. Read captured_variants instead.';

create index variant_snapshots_by_product
    on storecrawl.variant_snapshots (product_id, option, captured_at desc);

-- A repeat has the snapshots of the payload that it repeats.
create view storecrawl.captured_products with (security_invoker = true) as
select
    payload.id as payload_id, snapshot.product_id, snapshot.store_id, payload.fetched_at as captured_at,
    snapshot.name, snapshot.brand, snapshot.category, snapshot.subcategory, snapshot.strain_type,
    snapshot.thc_lo, snapshot.thc_hi, snapshot.thc_unit, snapshot.cbd_lo, snapshot.cbd_hi, snapshot.cbd_unit,
    snapshot.availability, snapshot.in_stock, payload.sequence
from storecrawl.payloads as payload
join storecrawl.product_snapshots as snapshot on snapshot.payload_id = coalesce(payload.repeats, payload.id);

comment on view storecrawl.captured_products is 'Each product in each crawl payload.';

create view storecrawl.captured_variants with (security_invoker = true) as
select
    payload.id as payload_id, snapshot.product_id, snapshot.option, payload.fetched_at as captured_at,
    snapshot.price_rec_cents, snapshot.price_med_cents,
    snapshot.special_rec_cents, snapshot.special_med_cents,
    snapshot.quantity, snapshot.quantity_capped, snapshot.in_stock, payload.sequence
from storecrawl.payloads as payload
join storecrawl.variant_snapshots as snapshot on snapshot.payload_id = coalesce(payload.repeats, payload.id);

comment on view storecrawl.captured_variants is 'Each option in each crawl payload.';
