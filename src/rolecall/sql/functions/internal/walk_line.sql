-- Walks a line from a place on until enough tasks are picked or the line ends. A task with a key goes through the key's lock:
-- the best that wants it is picked, the others are parked.
-- returns: one row: picked tasks with the slot that each wins, which of them won one, and the place up to which nothing is left
-- raises: nothing
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
-- notifies: nothing
create or replace function rolecall.walk_line(
    p_line_id int, p_claimant rolecall.claimant, p_after rolecall.floor, p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[], reached rolecall.floor)
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_after rolecall.floor := p_after;
    v_step int := p_limit;
    v_whole boolean := true;
    v_met text[] := array(select task.key from rolecall.tasks as task where task.id = any(p_taken) and task.key is not null);
    v_free bigint[];
    v_keys text[];
    v_seen int;
    v_won record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    loop
        -- A parent between two steps has its key already.
        select count(*), array_agg(seen.id) filter (where seen.key is null or seen.key_slot is not null),
            array_agg(distinct seen.key) filter (where seen.key is not null and seen.key_slot is null),
            (array_agg(seen.scheduled_for))[count(*)], (array_agg(seen.id))[count(*)]
        into v_seen, v_free, v_keys, v_after.scheduled_for, v_after.id
        from (
            select task.id, task.key, task.key_slot, task.scheduled_for
            from rolecall.tasks as task
            where task.line_id = p_line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) > (v_after.scheduled_for, v_after.id)
                and task.scheduled_for <= p_now and task.id <> all(p_taken)
                and (task.key is null or task.key_slot is not null or task.key <> all(v_met))
            order by task.scheduled_for, task.id
            limit v_step
            for update skip locked
        ) as seen;
        exit when v_seen = 0;
        if v_keys is null then
            v_whole := v_whole and v_seen <= p_limit - cardinality(ids);
            v_free := v_free[1:p_limit - cardinality(ids)];
            ids := ids || v_free;
            slots := slots || array_fill(null::smallint, array[cardinality(v_free)]);
        else
            select * into v_won from rolecall.settle_keys(
                v_free, v_keys, p_claimant, p_limit - cardinality(ids), p_now
            );
            ids := ids || v_won.ids;
            slots := slots || v_won.slots;
            keyed := keyed || array(select won.id from unnest(v_won.ids, v_won.slots) as won (id, slot) where won.slot is not null);
            v_met := v_met || v_keys;
            v_whole := v_whole and v_won.whole;
        end if;
        if v_whole then
            reached := v_after;
        end if;
        exit when cardinality(ids) >= p_limit or v_seen < v_step;
        v_step := least(1000, 2 * v_step);
    end loop;
    return next;
end
$$;
