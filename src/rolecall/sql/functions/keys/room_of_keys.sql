-- Says how much room keys have: which of their slots are free. Holders of places that a smaller capacity no
-- longer has count too.
-- returns: one row a key
create or replace function rolecall.room_of_keys(p_keys text[])
returns setof rolecall.key_room
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select wanted.key, room.capacity, case
        when cardinality(holder.slots) >= room.capacity then '{}'
        when room.capacity = 1 then '{1}'
        else array(
            select slot::smallint from generate_series(1, room.capacity) as slot
            where slot <> all(holder.slots)
            order by slot
            limit room.capacity - cardinality(holder.slots)
        )
    end
    from unnest(p_keys) as wanted (key)
    left join rolecall.keys as lock using (key)
    cross join lateral rolecall.capacity_of(wanted.key, coalesce(lock.capacity, lock.declared)) as room
    cross join lateral (
        select array(
            select task.key_slot
            from rolecall.tasks as task
            where task.key = wanted.key and task.key_slot is not null
        ) as slots
    ) as holder
$$;

-- Says how many tasks of a key may run at once: what was set for the key itself, else for the longest pattern
-- that fits it, else one.
-- returns: one row
-- search_path: not set, so that it becomes a part of the query that asks for many keys
create or replace function rolecall.capacity_of(p_key text, p_own smallint)
returns table (capacity int)
language sql
stable
as $$
    select coalesce(
        p_own,
        -- Most pools have no patterns: that is asked once a query, not once a key.
        case when exists (select from rolecall.key_patterns) then (
            select pattern.capacity from rolecall.pattern_of_key(p_key) as pattern
        ) end,
        1
    )::int
$$;
