-- For each of these keys that has room: the best due tasks that want it, in the lines of this claim. Sees what others have
-- committed before it got the keys' locks, so that no two claims give one place away twice.
-- returns: the winners with the slot that each takes; a key that somebody else holds locked has none
-- raises: nothing
-- locks: keys rows in key order, skipping locked and unborn ones; then the winners, skipping locked ones
-- notifies: nothing
create or replace function rolecall.win_keys(p_keys text[], p_line_ids int[], p_now timestamptz)
returns table (id bigint, key text, slot smallint)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_locked text[];
begin
    with missing as materialized (
        select distinct wanted.key from unnest(p_keys) as wanted (key)
        where not exists (select from rolecall.keys as known where known.key = wanted.key)
    )
    insert into rolecall.keys (key)
    select missing.key from missing
    -- Two that insert the same row wait for each other. A thousand numbers keep the locks few; a clash costs one claim's delay.
    where pg_try_advisory_xact_lock(7246926, hashtext(missing.key) & 1023)
    on conflict do nothing;
    v_locked := array(
        select held.key from rolecall.keys as held where held.key = any(p_keys) order by held.key for update skip locked
    );
    return query
    with free as materialized (
        select lock.key, slot.number::smallint as number,
            row_number() over (partition by lock.key order by slot.number) as turn
        from rolecall.keys as lock
        cross join lateral (
            select place.number
            from generate_series(1, lock.capacity) as place (number)
            where not exists (
                select from rolecall.tasks as holder
                where holder.key = lock.key and holder.key_slot = place.number
            )
            order by place.number
            -- Holders of places that a smaller capacity no longer has count too.
            limit greatest(0, lock.capacity - (
                select count(*) from rolecall.tasks as holder
                where holder.key = lock.key and holder.key_slot is not null
            ))
        ) as slot
        where lock.key = any(v_locked)
    ),
    best as materialized (
        select wanted.key, winner.id, row_number() over (
            partition by wanted.key order by winner.priority desc, winner.scheduled_for, winner.id
        ) as turn
        from (select free.key, max(free.turn) as room from free group by free.key) as wanted
        cross join lateral (
            select task.id, task.scheduled_for, line.priority
            from rolecall.lines as line
            cross join lateral (
                select head.id, head.scheduled_for
                from rolecall.tasks as head
                where head.key = wanted.key and head.line_id = line.id
                    and head.state = 'pending' and head.key_slot is null and head.scheduled_for <= p_now
                order by head.scheduled_for, head.id
                limit wanted.room
            ) as task
            where line.id = any(p_line_ids)
        ) as winner
    ),
    mine as materialized (
        select task.id from rolecall.tasks as task
        where task.id = any(array(select best.id from best join free using (key, turn))) and task.state = 'pending'
        order by task.id
        for update skip locked
    )
    select mine.id, free.key, free.number
    from mine
    join best on best.id = mine.id
    join free on free.key = best.key and free.turn = best.turn;
end
$$;
