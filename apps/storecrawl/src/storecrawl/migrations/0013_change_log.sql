-- The change log, which says of which stores the statistics are out of date; what is counted of each store; the statistics.
-- breaking: no

create unlogged table storecrawl.product_changes (
    stores int8multirange not null
);

comment on table storecrawl.product_changes is
    'What committed statements changed since the last round: ids of stores, as ranges; none, where only the views show it.';

create unlogged table storecrawl.change_log_mark (
    set_at timestamptz not null default clock_timestamp()
);

create unique index there_is_one_mark on storecrawl.change_log_mark ((true));

comment on table storecrawl.change_log_mark is
    'One row as long as nothing was lost: a crash of the server empties it with the log, and the next round counts everything.';

create table storecrawl.derivation (
    only_one          boolean primary key default true,
    next_round_at     timestamptz,
    began_at          timestamptz,
    ended_at          timestamptz,
    stores            integer,
    views_out_of_date boolean not null default true,

    constraint there_is_one_derivation check (only_one)
);

insert into storecrawl.derivation default values;

comment on table storecrawl.derivation is 'How the last round of derivation went; written by rounds only, of which one runs at a time.';
comment on column storecrawl.derivation.next_round_at is 'Before this moment no other round begins.';
comment on column storecrawl.derivation.stores is 'How many stores the last round counted; null for all of them.';

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

create index store_partials_by_brand on storecrawl.store_partials (brand_id);

comment on table storecrawl.store_partials is 'What is on each store''s menu, counted; each round overwrites the stores that changed.';
comment on column storecrawl.store_partials.brand_id is '0 for products without a brand, as category is empty for those without one.';

create unlogged table storecrawl.touched_brands (
    brand_id bigint not null
);

comment on table storecrawl.touched_brands is 'Brands of which a partial changed since statistics were last merged.';

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

comment on table storecrawl.brand_statistics is 'What all menus together have of each brand; brands that none has are not here.';

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

comment on table storecrawl.store_category_statistics is 'What is on each store''s menu, by category; empty for products without one.';

-- Rounds are rooted in one role, one at a time; it is known before the first worker starts, since triggers enqueue for it.
select rolecall.declare(
    '[{"name": "analytics_refresh", "one_root": true}]', '[{"name": "collect_changes", "role": "analytics_refresh"}]'
);

-- Ask for a round, once a transaction and when it commits: so nobody waits for another's refresh, only for a commit.
-- A round that stands for it is not claimed before that commit: scope pending.
-- locks: the task's dedupe key, or the task that stands
create function storecrawl.ask_for_round()
returns trigger
language plpgsql
as $$
declare
    v_transaction text := pg_current_xact_id()::text;
begin
    if current_setting('storecrawl.asked_for_round', true) is not distinct from v_transaction then
        return null;
    end if;
    perform set_config('storecrawl.asked_for_round', v_transaction, true);
    perform rolecall.enqueue_many(jsonb_build_array(jsonb_build_object(
        'role', 'analytics_refresh', 'handler', 'collect_changes', 'payload', jsonb_build_object(),
        'dedupe_key', 'changes', 'dedupe', jsonb_build_object('scope', 'pending'),
        'scheduled_for', (select greatest(rolecall.clock(), next_round_at) from storecrawl.derivation)
    )));
    return null;
end
$$;

create constraint trigger ask_for_round after insert on storecrawl.product_changes
deferrable initially deferred for each row execute function storecrawl.ask_for_round();

-- An option that went together with its product has no store here; the product's own trigger tells it.
create function storecrawl.log_changes(p_stores bigint[])
returns void
language sql
as $$
    insert into storecrawl.product_changes (stores)
    select range_agg(int8range(store_id, store_id, '[]'))
    from unnest(p_stores) as store_id
    where store_id is not null
    having count(*) > 0
$$;

create function storecrawl.log_products()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(select distinct store_id from touched));
    return null;
end
$$;

-- No join of the two tables of rows: its plan is kept, from when they were small.
create function storecrawl.log_changed_products()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(
        select distinct store_id
        from (
            select id, store_id, brand_id, category, availability, in_stock from new_rows
            except
            select id, store_id, brand_id, category, availability, in_stock from old_rows
        ) as different
    ));
    return null;
end
$$;

create function storecrawl.log_variants()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(
        select distinct (select store_id from storecrawl.products where id = product_id)
        from (select distinct product_id from touched) as different
    ));
    return null;
end
$$;

create function storecrawl.log_changed_variants()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(
        select distinct (select store_id from storecrawl.products where id = product_id)
        from (
            select
                id, product_id, listed, price_changes,
                price_rec_cents, price_med_cents, special_rec_cents, special_med_cents
            from new_rows
            except
            select
                id, product_id, listed, price_changes,
                price_rec_cents, price_med_cents, special_rec_cents, special_med_cents
            from old_rows
        ) as different
    ));
    return null;
end
$$;

create function storecrawl.log_for_views()
returns trigger
language plpgsql
as $$
begin
    insert into storecrawl.product_changes (stores) values ('{}');
    return null;
end
$$;

create trigger log_new_products after insert on storecrawl.products
referencing new table as touched for each statement execute function storecrawl.log_products();
create trigger log_deleted_products after delete on storecrawl.products
referencing old table as touched for each statement execute function storecrawl.log_products();
create trigger log_changed_products after update on storecrawl.products
referencing old table as old_rows new table as new_rows
for each statement execute function storecrawl.log_changed_products();

create trigger log_new_variants after insert on storecrawl.variants
referencing new table as touched for each statement execute function storecrawl.log_variants();
create trigger log_deleted_variants after delete on storecrawl.variants
referencing old table as touched for each statement execute function storecrawl.log_variants();
create trigger log_changed_variants after update on storecrawl.variants
referencing old table as old_rows new table as new_rows
for each statement execute function storecrawl.log_changed_variants();

create trigger log_applied_payloads after update of applied_at on storecrawl.payloads
for each statement execute function storecrawl.log_for_views();
create trigger log_stores after insert or update of state on storecrawl.stores
for each statement execute function storecrawl.log_for_views();
