-- Finds things by a part of their names, ignoring case, for suggestions. The kinds are role, handler,
-- schedule, worker and key. Workers are also found by their ids. A key must begin with the text, as its index
-- requires.
-- returns: up to `p_limit` rows per kind: names that begin with the text first; the id if things of the kind
-- have one
create or replace function rolecall.find_names(p_kinds text[], p_text text, p_limit int)
returns table (kind text, id bigint, name text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with named (kind, id, name, place) as (
        select 'role', null::bigint, role.name, strpos(lower(role.name), lower(p_text))
        from rolecall.roles as role
        where 'role' = any(p_kinds)
        union all
        select 'handler', null, handler.name, strpos(lower(handler.name), lower(p_text))
        from rolecall.handlers as handler
        where 'handler' = any(p_kinds)
        union all
        select 'schedule', schedule.id, schedule.name, strpos(lower(schedule.name), lower(p_text))
        from rolecall.schedules as schedule
        where 'schedule' = any(p_kinds)
        union all
        select 'worker', worker.id, worker.name,
            strpos(lower(concat_ws(' ', worker.id, worker.name)), lower(p_text))
        from rolecall.workers as worker
        where 'worker' = any(p_kinds) and worker.stopped_at is null
        union all
        (
            select 'key', null, known.key, 1
            from rolecall.keys as known
            -- The largest character ends the range of texts with this beginning.
            where 'key' = any(p_kinds) and known.key >= p_text and known.key < p_text || chr(1114111)
            order by known.key
            limit p_limit
        )
    ),
    ranked as (
        select named.*,
            row_number() over (partition by named.kind order by named.place > 1, named.name) as rank
        from named
        where named.place > 0
    )
    select ranked.kind, ranked.id, ranked.name
    from ranked
    where ranked.rank <= p_limit
    order by array_position(p_kinds, ranked.kind), ranked.rank
$$;
