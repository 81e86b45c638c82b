-- Histories of products, prices and stock: one row for each span of fetches with equal values.

-- Sequences are the numbers of a store's fetches. A row is true for the applied payloads from from_sequence up to, not
-- including, to_sequence. A product that a payload lacks, or that was refused there, has no row for that payload.
-- Products are never deleted, so the histories have no foreign keys, which would cost a lock of a product per row.
create table storecrawl.product_history (
    product_id    bigint not null,
    valid_from    timestamptz not null,
    valid_to      timestamptz,
    from_sequence integer not null,
    to_sequence   integer,
    availability  storecrawl.availability not null,
    in_stock      boolean not null,
    name          text not null,
    brand         text,
    category      text,
    subcategory   text,
    strain_type   text,
    thc_lo        numeric(9, 3),
    thc_hi        numeric(9, 3),
    thc_unit      text,
    cbd_lo        numeric(9, 3),
    cbd_hi        numeric(9, 3),
    cbd_unit      text,

    constraint a_product_span_is_not_empty check (from_sequence < to_sequence),
    constraint a_current_product_span_is_open check ((to_sequence is null) = (valid_to is null))
) partition by range ((coalesce(valid_to, 'infinity')));

create table storecrawl.price_history (
    product_id        bigint not null,
    valid_from        timestamptz not null,
    valid_to          timestamptz,
    from_sequence     integer not null,
    to_sequence       integer,
    price_rec_cents   integer,
    price_med_cents   integer,
    special_rec_cents integer,
    special_med_cents integer,
    option            text not null,

    constraint a_price_span_is_not_empty check (from_sequence < to_sequence),
    constraint a_current_price_span_is_open check ((to_sequence is null) = (valid_to is null))
) partition by range ((coalesce(valid_to, 'infinity')));

create table storecrawl.stock_history (
    product_id      bigint not null,
    valid_from      timestamptz not null,
    valid_to        timestamptz,
    from_sequence   integer not null,
    to_sequence     integer,
    quantity        integer,
    quantity_capped boolean not null,
    in_stock        boolean not null,
    option          text not null,

    constraint a_stock_span_is_not_empty check (from_sequence < to_sequence),
    constraint a_current_stock_span_is_open check ((to_sequence is null) = (valid_to is null))
) partition by range ((coalesce(valid_to, 'infinity')));

comment on table storecrawl.product_history is
    'The facts of each product over time: one row per span of payloads with equal values.';
comment on table storecrawl.price_history is 'The prices of each option over time, in cents, as product_history.';
comment on table storecrawl.stock_history is 'The stock of each option over time, as product_history.';
comment on column storecrawl.product_history.valid_from is 'The time of the first fetch with these values.';
comment on column storecrawl.product_history.valid_to is
    'The time of the first fetch with other values, or without the product. Null for the current values.';
comment on column storecrawl.product_history.from_sequence is 'The number of the first fetch with these values.';
comment on column storecrawl.product_history.to_sequence is
    'The number of the first applied fetch with other values. Null for the current values.';

-- Current rows have a partition of their own, one row per record, which is updated in place. The other partitions are
-- months, which retention drops. The default partitions take times that no month covers: old payloads that are applied
-- late, and wrong clocks.
create table storecrawl.product_history_current partition of storecrawl.product_history (check (valid_to is null))
    for values from ('infinity') to (maxvalue) with (fillfactor = 90);
create table storecrawl.product_history_other partition of storecrawl.product_history (valid_to not null) default;
create table storecrawl.price_history_current partition of storecrawl.price_history (check (valid_to is null))
    for values from ('infinity') to (maxvalue) with (fillfactor = 90);
create table storecrawl.price_history_other partition of storecrawl.price_history (valid_to not null) default;
create table storecrawl.stock_history_current partition of storecrawl.stock_history (check (valid_to is null))
    for values from ('infinity') to (maxvalue) with (fillfactor = 90);
create table storecrawl.stock_history_other partition of storecrawl.stock_history (valid_to not null) default;

create unique index one_current_row_per_product on storecrawl.product_history_current (product_id);
create unique index one_current_price_per_option on storecrawl.price_history_current (product_id, option);
create unique index one_current_stock_per_option on storecrawl.stock_history_current (product_id, option);
create index product_history_other_by_product on storecrawl.product_history_other (product_id, from_sequence);
create index price_history_other_by_product on storecrawl.price_history_other (product_id, from_sequence);
create index stock_history_other_by_product on storecrawl.stock_history_other (product_id, from_sequence);

-- Create the partitions of a history for months without one, up to the month of p_until, and drop those that ended
-- before p_keep. The start of the first one is the month of p_since. The caller may lack the right to create tables.
-- locks: the history, exclusively, only if a month is created or dropped
create function storecrawl.keep_history_months(
    p_history text, p_since timestamptz, p_until timestamptz, p_keep timestamptz default null
)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
set timezone = 'UTC'
as $$
declare
    v_month date;
    v_name text;
    v_changed integer := 0;
begin
    if p_history not in ('product_history', 'price_history', 'stock_history') then
        raise exception 'storecrawl has no history %', p_history using errcode = 'invalid_parameter_value';
    end if;
    for v_name in
        select relname
        from pg_class
        join pg_inherits on inhrelid = pg_class.oid
        where inhparent = format('storecrawl.%I', p_history)::regclass
            and relname ~ ('^' || p_history || '_\d{4}_\d{2}$')
            and to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= p_keep
    loop
        execute format('drop table storecrawl.%I', v_name);
        v_changed := v_changed + 1;
    end loop;
    if p_keep is not null then
        execute format('delete from storecrawl.%I where valid_to < $1', p_history || '_other') using p_keep;
    end if;
    for v_month in
        select generate_series(date_trunc('month', p_since), date_trunc('month', p_until), interval '1 month')::date
    loop
        v_name := p_history || to_char(v_month, '_YYYY_MM');
        continue when to_regclass(format('storecrawl.%I', v_name)) is not null;
        execute format(
            'create table storecrawl.%I (like storecrawl.%I including defaults including constraints)', v_name, p_history
        );
        execute format('alter table storecrawl.%I alter column valid_to set not null', v_name);
        execute format(
            'with moved as (delete from storecrawl.%I where valid_to >= %L and valid_to < %L returning *)'
            ' insert into storecrawl.%I select * from moved',
            p_history || '_other', v_month, v_month + interval '1 month', v_name
        );
        execute format('create index %I on storecrawl.%I (product_id, from_sequence)', v_name || '_by_product', v_name);
        execute format(
            'alter table storecrawl.%I attach partition storecrawl.%I for values from (%L) to (%L)',
            p_history, v_name, v_month, v_month + interval '1 month'
        );
        v_changed := v_changed + 1;
    end loop;
    return v_changed;
end
$$;

revoke execute on function storecrawl.keep_history_months from public;

select storecrawl.keep_history_months(history, now(), now() + interval '2 months')
from unnest(array['product_history', 'price_history', 'stock_history']) as history;

create view storecrawl.captured_products with (security_invoker = true) as
select
    payload.id as payload_id, history.product_id, payload.store_id, payload.fetched_at as captured_at,
    history.name, history.brand, history.category, history.subcategory, history.strain_type,
    history.thc_lo, history.thc_hi, history.thc_unit, history.cbd_lo, history.cbd_hi, history.cbd_unit,
    history.availability, history.in_stock, payload.sequence
from storecrawl.payloads as payload
join storecrawl.products as product on product.store_id = payload.store_id
join storecrawl.product_history as history
    on history.product_id = product.id
    and payload.sequence >= history.from_sequence
    and (payload.sequence < history.to_sequence or history.to_sequence is null)
where payload.applied_at is not null;

comment on view storecrawl.captured_products is
    'Each product in each applied payload, as far back as the histories are kept.';

create view storecrawl.captured_variants with (security_invoker = true) as
select
    payload.id as payload_id, price.product_id, price.option, payload.fetched_at as captured_at,
    price.price_rec_cents, price.price_med_cents, price.special_rec_cents, price.special_med_cents,
    stock.quantity, stock.quantity_capped, stock.in_stock, payload.sequence
from storecrawl.payloads as payload
join storecrawl.products as product on product.store_id = payload.store_id
join storecrawl.price_history as price
    on price.product_id = product.id
    and payload.sequence >= price.from_sequence
    and (payload.sequence < price.to_sequence or price.to_sequence is null)
join storecrawl.stock_history as stock
    on stock.product_id = product.id
    and stock.option = price.option
    and payload.sequence >= stock.from_sequence
    and (payload.sequence < stock.to_sequence or stock.to_sequence is null)
where payload.applied_at is not null;

comment on view storecrawl.captured_variants is
    'Each option in each applied payload, as far back as the histories are kept.';

create view storecrawl.product_sightings with (security_invoker = true) as
select product.id as product_id, payload.id as payload_id, payload.sequence, payload.fetched_at as seen_at
from storecrawl.products as product
cross join lateral (
    select id, sequence, fetched_at
    from storecrawl.payloads
    where store_id = product.store_id
        and applied_at is not null
        and (sequence < product.absent_from or product.absent_from is null)
    order by sequence desc
    limit 1
) as payload;

comment on view storecrawl.product_sightings is
    'The newest applied payload with each product, usable or not.';
