-- Sorts documents with ids so that children of the same parent are adjacent, because they wait for the same
-- row. Tasks of one sequence stay together, in the given order.
-- returns: the same documents
create or replace function rolecall.children_together(p_documents jsonb)
returns jsonb
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with placed as (
        select document, n, task.parent_id, task.id,
            coalesce(task.key || ':' || abs(task.key_slot), '#' || n) as place
        from jsonb_array_elements(p_documents) with ordinality as item (document, n)
        left join lateral (
            select open.parent_id, open.id, open.key, open.key_slot
            from rolecall.tasks as open
            where open.id = (document -> 'id')::bigint offset 0
        ) as task on true
    )
    select jsonb_agg(sorted.document order by sorted.parent_id nulls first, sorted.id, sorted.n)
    from (
        select placed.document, placed.n,
            first_value(placed.parent_id) over in_order as parent_id,
            first_value(placed.id) over in_order as id
        from placed
        window in_order as (partition by placed.place order by placed.n)
    ) as sorted
$$;

-- Returns whether documents with ids all belong to children of the same parent, for which all of them would
-- wait.
create or replace function rolecall.have_one_parent(p_documents jsonb)
returns boolean
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select count(distinct task.parent_id) = 1 and count(task.parent_id) = count(*)
    from jsonb_array_elements(p_documents) as document
    left join lateral (
        select open.parent_id from rolecall.tasks as open where open.id = (document -> 'id')::bigint offset 0
    ) as task on true
$$;

-- Splits a list of at least two elements into halves.
-- returns: two arrays
create or replace function rolecall.halves(p_list jsonb)
returns setof jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_agg(element order by n)
    from jsonb_array_elements(p_list) with ordinality as item (element, n)
    group by n > jsonb_array_length(p_list) / 2
    order by min(n)
$$;
