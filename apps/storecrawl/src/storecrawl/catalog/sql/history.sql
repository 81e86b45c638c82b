-- name: next_payload
-- returns: the number and time of the next applied fetch of a store after a given one; no row if there is none
select sequence, fetched_at
from storecrawl.payloads
where store_id = %(store_id)s
    and applied_at is not null
    and sequence > %(sequence)s
order by sequence
limit 1


-- name: set_history
-- Set the values of the records of some products from one fetch up to, not including, the next applied one. Records
-- without a row get a gap. Spans that cover the range are split, and equal neighbours merge. The words with a dollar
-- sign stand for the table of a history and its columns.
-- returns: how many records changed
with given as (
    select *
    from jsonb_to_recordset(%(rows)s::jsonb) as given ($definitions)
),
spans as materialized (
    select $keys, from_sequence, to_sequence, valid_from, valid_to, $values
    from $history
    where product_id = any(%(products)s)
        and coalesce(valid_to, 'infinity') >= %(since)s::timestamptz
        and (from_sequence <= %(next)s or %(next)s::integer is null)
        and (to_sequence >= %(sequence)s or to_sequence is null)
),
differing as materialized (
    select $keys
    from given
    full join (
        select *
        from spans
        where from_sequence <= %(sequence)s
            and (to_sequence > %(sequence)s or to_sequence is null)
    ) as known using ($keys)
    where (given.product_id is null) <> (known.product_id is null)
        or $given_row is distinct from $known_row
),
pieces as (
    select
        $keys, from_sequence, least(to_sequence, %(sequence)s) as to_sequence,
        valid_from, case when to_sequence <= %(sequence)s then valid_to else %(fetched_at)s end as valid_to, $values
    from spans
    join differing using ($keys)
    where from_sequence < %(sequence)s
    union all
    select
        $keys, %(sequence)s, %(next)s, %(fetched_at)s, %(next_at)s, $values
    from given
    join differing using ($keys)
    union all
    select
        $keys, greatest(from_sequence, %(next)s), to_sequence,
        case when from_sequence >= %(next)s then valid_from else %(next_at)s end, valid_to, $values
    from spans
    join differing using ($keys)
    where to_sequence > %(next)s
        or (to_sequence is null and %(next)s is not null)
),
beginnings as (
    select
        *,
        lag(to_sequence) over record is distinct from from_sequence
            or lag($row) over record is distinct from $row as begins
    from pieces
    window record as (partition by $keys order by from_sequence)
),
islands as (
    select *, count(*) filter (where begins) over (partition by $keys order by from_sequence) as island
    from beginnings
),
merged as (
    select
        $keys, from_sequence, valid_from, $values, begins,
        last_value(to_sequence) over whole as to_sequence, last_value(valid_to) over whole as valid_to
    from islands
    window whole as (
        partition by $keys, island order by from_sequence rows between unbounded preceding and unbounded following
    )
),
removed as (
    delete from $history as known
    using (select * from spans join differing using ($keys) where to_sequence is not null) as old
    where known.product_id = old.product_id
        and known.from_sequence = old.from_sequence
        and coalesce(known.valid_to, 'infinity') = old.valid_to
        and ($keys_of_known) = ($keys_of_old)
),
ended as (
    delete from $current as known
    using (select * from spans join differing using ($keys) where to_sequence is null) as old
    where ($keys_of_known) = ($keys_of_old)
        and not exists (
            select
            from merged
            where begins
                and to_sequence is null
                and ($keys_of_merged) = ($keys_of_old)
        )
),
current as (
    insert into $current as known ($keys, from_sequence, to_sequence, valid_from, valid_to, $values)
    select $keys, from_sequence, to_sequence, valid_from, valid_to, $values
    from merged
    where begins
        and to_sequence is null
    order by $keys
    on conflict ($keys) do update
    set from_sequence = excluded.from_sequence,
        valid_from = excluded.valid_from,
        $assignments
    where known.from_sequence <> excluded.from_sequence
        or $known_row is distinct from $excluded_row
),
past as (
    insert into $history ($keys, from_sequence, to_sequence, valid_from, valid_to, $values)
    select $keys, from_sequence, to_sequence, valid_from, valid_to, $values
    from merged
    where begins
        and to_sequence is not null
)
select count(*)
from differing


-- name: price_changes
-- returns: how often the prices of each option of some products changed in the history, and the last time
select
    product_id, option,
    count(*) filter (where is_change) as changes,
    max(valid_from) filter (where is_change) as changed_at
from (
    select
        product_id, option, valid_from,
        lag(from_sequence) over record is not null
            and lag(row(price_rec_cents, price_med_cents, special_rec_cents, special_med_cents)) over record
                is distinct from row(price_rec_cents, price_med_cents, special_rec_cents, special_med_cents) as is_change
    from storecrawl.price_history
    where product_id = any(%(products)s)
    window record as (partition by product_id, option order by from_sequence)
) as each_span
group by product_id, option


-- name: correct_price_changes
-- Correct the counted price changes of options.
update storecrawl.variants as variant
set price_changes = known.changes,
    price_changed_at = known.changed_at
from (
    select
        variant.id, total as changes,
        case when total > 0 then coalesce(correction.changed_at, price_changed_at) end as changed_at
    from jsonb_to_recordset(%(rows)s::jsonb) as correction (
        product_id bigint, option text, more integer, changed_at timestamptz
    )
    join storecrawl.variants as variant using (product_id, option)
    cross join lateral (select greatest(variant.price_changes + more, 0) as total) as counted
) as known
where variant.id = known.id
    and (variant.price_changes, variant.price_changed_at) is distinct from (known.changes, known.changed_at)


-- name: keep_months
-- Create the partitions of this month and the next two, and drop those of the months that are not kept.
-- returns: how many partitions were created or dropped
select sum(storecrawl.keep_history_months(history, now(), now() + interval '2 months', kept.since))
from unnest(array['product_history', 'price_history', 'stock_history']) as history
cross join (
    select case when %(months)s > 0 then now() - make_interval(months => %(months)s) end as since
) as kept
