-- Brings back parked tasks whose keys have room. Nothing should leave such a task behind; this is the net for
-- what does all the same. It goes through the keys that tasks wait for in their order, so many of them in a
-- call, and leaves for the next time what another session has locked.
-- returns: one row: which tasks are back that nobody else would have brought back, and the last key that was
-- looked at, null when no key is left. Where something holds the key, or one of the same role and handler may
-- be claimed, the others come back without a word: they were parked while a pattern got more room, and the
-- next end would have brought them back too
-- raises: RC050 wrong isolation level
-- locks: keys rows in key order, skipping locked and unborn ones; then the parked tasks in id order, skipping
-- locked ones
-- notifies: rolecall_wake, where an idle worker waits for the role
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
    -- A statement of its own: what looked forgotten may have been on its way, brought back by whoever had the
    -- key's lock.
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

-- Goes on with bringing back what is parked though its key has room, where a pass is under way or a minute
-- has gone since the last one; call it again until there is no more.
-- returns: one row: what unpark has brought back, and whether the pass goes on; none when it is not time, or
-- another session is at it
-- raises: RC050 wrong isolation level
-- locks: the pass's row, skipping it where it is locked; keys and tasks as unpark does
-- notifies: rolecall_wake, where an idle worker waits for the role
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
