-- Reports the state of keys: the capacity and where it comes from, the tasks that hold permits, and the
-- number of waiting tasks.
-- returns: one row per key, in the order requested: `pattern` is the source of the capacity: the key
-- itself, a pattern, or null for the default; the number of permits taken, and the first ten holders; how
-- many due tasks wait for the key, and how many are due later, each counted up to p_most
-- public: yes
create or replace function rolecall.keys_now(p_keys text[], p_most int default 10001)
returns table (key text, capacity int, pattern text, used int, holders bigint[], waiting int, later int)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select wanted.key, coalesce(own.capacity, fitting.capacity, 1)::int,
        coalesce(own.key, fitting.prefix || '*'), cardinality(holder.ids), holder.ids[:10], line.waiting,
        line.later
    from unnest(p_keys) with ordinality as wanted (key, place)
    cross join (select rolecall.clock() as now) as moment
    left join lateral (
        select lock.key, coalesce(lock.capacity, lock.declared) as capacity from rolecall.keys as lock
        where lock.key = wanted.key and coalesce(lock.capacity, lock.declared) is not null
    ) as own on true
    left join lateral rolecall.pattern_of_key(wanted.key) as fitting on true
    cross join lateral (
        select array(
            -- Only the first task of each sequence.
            select distinct on (abs(task.key_slot)) task.id from rolecall.tasks as task
            where task.key = wanted.key and task.key_slot is not null
            order by abs(task.key_slot), task.key_slot desc, task.id
        ) as ids
    ) as holder
    cross join lateral (
        select count(*) filter (where next.is_due)::int as waiting,
            count(*) filter (where not next.is_due)::int as later
        from (
            select task.scheduled_for <= moment.now as is_due from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending' and task.key_slot is null
            limit p_most
        ) as next
    ) as line
    order by wanted.place
$$;
