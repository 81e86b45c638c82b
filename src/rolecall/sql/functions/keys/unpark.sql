-- Unparks tasks whose keys have free capacity. Normally no such task is left parked; this is a safety net.
-- Goes through the keys of pending tasks in order, p_limit keys per call. Keys that another session has
-- locked are left to the next pass.
-- returns: one row: ids = the unparked tasks that nothing else would have unparked; reached = the last key,
-- null if no key is left. Other tasks are unparked without being returned: if something holds the key, or
-- another task of the same role and handler can be claimed, they were parked while the capacity of a
-- pattern grew, and the next finished task would have unparked them too
-- raises: RC050 wrong isolation level
-- locks: keys rows in key order, skipping locked and uncommitted ones; then the parked tasks in id order,
-- skipping locked rows
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.unpark(p_after text default '', p_limit int default 1000)
returns table (ids bigint[], reached text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_keys text[];
    v_back bigint[];
begin
    perform rolecall.require_read_committed();
    v_keys := array(
        with recursive step as (
            (
                select task.key from rolecall.tasks as task
                where task.state = 'pending' and task.key is not null and task.key > p_after
                order by task.key
                limit 1
            )
            union all
            select next.key
            from step
            cross join lateral (
                select task.key from rolecall.tasks as task
                where task.state = 'pending' and task.key is not null and task.key > step.key
                order by task.key
                limit 1
            ) as next
        )
        select step.key from step limit p_limit
    );
    if cardinality(v_keys) = p_limit then
        reached := v_keys[p_limit];
    end if;
    v_keys := rolecall.lock_keys(
        array(select distinct head.key from rolecall.parked_heads(v_keys) as head order by head.key)
    );
    -- A separate statement: the session that held the key's lock may just have unparked what seemed
    -- forgotten.
    v_back := array(
        select task.id from rolecall.tasks as task
        where task.id = any(array(select head.id from rolecall.parked_heads(v_keys) as head))
            and task.state = 'pending'
        order by task.id
        for update skip locked
    );
    update rolecall.tasks set parked = false where id = any(v_back);
    perform rolecall.wake_lines(
        array(select task.line_id from rolecall.tasks as task where task.id = any(v_back))
    );
    ids := array(
        select task.id from rolecall.tasks as task
        join rolecall.lines as line on line.id = task.line_id
        where task.id = any(v_back) and not exists (
            select from rolecall.tasks as other where other.key = task.key and other.key_slot is not null
        ) and not exists (
            select from rolecall.tasks as other
            join rolecall.lines as other_line on other_line.id = other.line_id
            where other.key = task.key and other.state = 'pending' and not other.parked
                and other.id <> all(v_back)
                and other.scheduled_for <= rolecall.clock()
                and (other_line.role, other_line.handler) = (line.role, line.handler)
        )
        order by task.id
    );
    if ids <> '{}' then
        perform rolecall.require_durability();
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select task.id, rolecall.clock(), 'unparked', task.attempt
        from rolecall.tasks as task
        where task.id = any(ids)
        order by task.id;
    end if;
    return next;
end
$$;

-- Continues the pass of unpark, or starts one a minute after the last. Call it again until nothing is left.
-- returns: one row: what unpark returned, and whether the pass continues; none if it is not time, or
-- another session is running it
-- raises: RC050 wrong isolation level
-- locks: the row of the pass, skipping it if it is locked; keys and tasks as unpark does
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.unpark_due(p_limit int default 1000)
returns table (ids bigint[], more boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_place text;
    v_reached text;
begin
    select pass.place
    into v_place
    from rolecall.unpark_pass as pass
    where pass.next_at <= v_now
    for update skip locked;
    if not found then
        return;
    end if;
    select step.ids, step.reached into ids, v_reached from rolecall.unpark(v_place, p_limit) as step;
    more := v_reached is not null;
    update rolecall.unpark_pass
    set place = coalesce(v_reached, ''),
        next_at = v_now + case when more then '0 s' else '1 min' end::interval;
    return next;
end
$$;
