-- Tells how it stands with keys: how many tasks of each may run at once, what says so, who holds them, and
-- how many wait.
-- returns: one row a key, in the order asked: `pattern`, which is the key itself where something is said of
-- it alone, is null where nothing is said; how many hold it, and the first ten of them; how many due tasks
-- wait for it, and how many are due later: of these, p_most are counted at most
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
            -- Of those that are to run one after another in a place, the first.
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
