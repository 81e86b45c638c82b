-- Statistics of stores and brands, counted by rounds of derivation.

create table storecrawl.derivation (
    only_one          boolean primary key default true,
    next_round_at     timestamptz,
    began_at          timestamptz,
    ended_at          timestamptz,
    stores            integer,
    views_out_of_date boolean not null default true,

    constraint there_is_one_derivation check (only_one)
);

comment on table storecrawl.derivation is
    'The result of the last round of derivation. Only rounds write it, one at a time.';
comment on column storecrawl.derivation.next_round_at is 'The earliest start of the next round.';
comment on column storecrawl.derivation.stores is
    'The number of stores in the last round. Null for all stores.';

insert into storecrawl.derivation default values;

create unlogged table storecrawl.store_partials (
    store_id         bigint not null,
    brand_id         bigint not null,
    category         text not null,
    products         integer not null,
    in_stock         integer not null,
    variants         integer not null,
    on_special       integer not null,
    priced           integer not null,
    lowest_cents     integer,
    highest_cents    integer,
    total_cents      bigint,
    price_changes    bigint not null,
    price_changed_at timestamptz,

    constraint one_partial_per_store_brand_and_category primary key (store_id, brand_id, category)
) with (fillfactor = 80);

comment on table storecrawl.store_partials is
    'Statistics of each store''s menu. Each round overwrites the stores that changed.';
comment on column storecrawl.store_partials.brand_id is
    '0 for products without a brand. The category is empty for products without one.';

create index store_partials_by_brand on storecrawl.store_partials (brand_id);

create unlogged table storecrawl.touched_brands (
    brand_id bigint not null
);

comment on table storecrawl.touched_brands is
    'Brands with a changed partial since the last merge of statistics.';

create table storecrawl.brand_statistics (
    brand_id         bigint primary key references storecrawl.brands (id),
    stores           integer not null,
    products         integer not null,
    in_stock         integer not null,
    variants         integer not null,
    on_special       integer not null,
    lowest_cents     integer,
    average_cents    integer,
    highest_cents    integer,
    price_changes    bigint not null,
    price_changed_at timestamptz,

    constraint a_brand_that_is_sold_has_products check (stores > 0 and products >= stores)
) with (fillfactor = 80);

comment on table storecrawl.brand_statistics is
    'Statistics of each brand over all menus. Brands without products have no row.';

create table storecrawl.store_category_statistics (
    store_id         bigint not null references storecrawl.stores (id),
    category         text not null,
    brands           integer not null,
    products         integer not null,
    in_stock         integer not null,
    variants         integer not null,
    on_special       integer not null,
    lowest_cents     integer,
    average_cents    integer,
    highest_cents    integer,
    price_changes    bigint not null,
    price_changed_at timestamptz,

    constraint one_row_per_store_and_category primary key (store_id, category)
) with (fillfactor = 80);

comment on table storecrawl.store_category_statistics is
    'Statistics of each store''s menu by category. The category is empty for products without one.';
