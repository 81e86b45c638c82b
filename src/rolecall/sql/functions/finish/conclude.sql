-- Draws the conclusions from endings: who needed one that ended may run or fails with it, what a failed or
-- cancelled one leaves open is ended too, and a parent whose last child ended goes on, the deepest first.
-- Then it frees the keys of all.
-- locks: children that needed one of them, in id order; what is left open below; then parents, the deepest
-- first, in id order; others that needed one of them, in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for a role; rolecall_cancel with the workers of
-- descendants
create or replace function rolecall.conclude(p_endings rolecall.ending[], p_keys text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_new rolecall.ending[] := p_endings;
    v_children rolecall.ending[] := '{}';
    v_needed rolecall.ending[] := '{}';
    v_level int;
    v_keys text[] := p_keys;
    v_more rolecall.ending[];
    v_got record;
begin
    loop
        if cardinality(v_new) > 0 then
            v_children := v_children || array(
                select ending
                from unnest(v_new) as ending
                where ending.parent_id is not null and ending.continued is not true
            );
            v_needed := v_needed || array(select ending from unnest(v_new) as ending where ending.needed);
            select * into v_got from rolecall.release_dependents(v_new, true);
            v_more := v_got.endings;
            v_keys := v_keys || v_got.keys;
            select * into v_got from rolecall.end_descendants(v_new);
            v_got.endings := v_more || v_got.endings;
        elsif v_children <> '{}' then
            -- Whoever locks several parents takes the deepest first: no two can wait for each other.
            v_level := (select max(ending.depth) from unnest(v_children) as ending);
            select * into v_got
            from rolecall.settle_parents(
                array(select ending from unnest(v_children) as ending where ending.depth = v_level)
            );
            v_children := array(select ending from unnest(v_children) as ending where ending.depth < v_level);
        elsif v_needed <> '{}' then
            select * into v_got from rolecall.release_dependents(v_needed, false);
            v_needed := '{}';
        else
            exit;
        end if;
        v_new := v_got.endings;
        v_keys := v_keys || v_got.keys;
    end loop;
    perform rolecall.unpark_heads(v_keys);
end
$$;

-- Tells who needs what has ended, children or others: a task whose last open need that was may run; one that
-- cannot do without it fails.
-- returns: one row: the keys and endings of those that failed
-- locks: needs rows; then dependents in id order
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.release_dependents(p_endings rolecall.ending[], p_children boolean)
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_hit jsonb;
begin
    if not exists (select from unnest(p_endings) as ending where ending.needed) then
        return;
    end if;
    with met as (
        update rolecall.needs as need
        set outcome = ending.state
        from unnest(p_endings) as ending
        where ending.needed and need.outcome is null and (
            (not need.whole_chain and need.needed_id = ending.id)
            or (need.whole_chain and need.needed_id = ending.chain_id and ending.continued is not true)
        ) and p_children = exists (
            select from rolecall.tasks as task where task.id = need.task_id and task.parent_id is not null
        )
        returning need.task_id, ending.id as needed_id,
        need.on_failure = 'fail' and ending.state <> 'completed' as fatal
    )
    select jsonb_agg(jsonb_build_object('id', hit.task_id, 'number', hit.number, 'culprit', hit.culprit))
    into v_hit
    from (
        select met.task_id, count(*) as number, min(met.needed_id) filter (where met.fatal) as culprit
        from met
        group by met.task_id
    ) as hit;
    if v_hit is not null then
        return query select * from rolecall.settle_blocked(v_hit);
    end if;
end
$$;

-- Ends what failed and cancelled tasks leave open: their own children, and the siblings of a child that takes
-- them with it. What is running is asked to stop.
-- returns: one row: the keys and endings of those that ended
-- locks: what hold_tasks locks, of all that is open below
-- notifies: rolecall_cancel with the workers of running ones
create or replace function rolecall.end_descendants(p_endings rolecall.ending[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_orphans bigint[];
    v_siblings bigint[];
begin
    v_orphans := array(
        select child.id
        from unnest(p_endings) as ending
        join rolecall.tasks as child on child.parent_id = ending.id
        where ending.open_children is not null and ending.state = 'failed'
    );
    v_siblings := array(
        select distinct child.id
        from unnest(p_endings) as ending
        join rolecall.tasks as child on child.parent_id = case
            when ending.state = 'cancelled' then ending.id
            else ending.parent_id
        end
        where (ending.open_children is not null and ending.state = 'cancelled')
            or (ending.on_failure = 'cancel_siblings' and ending.state <> 'completed')
    );
    if cardinality(v_orphans || v_siblings) = 0 then
        return;
    end if;
    -- With all below them: whoever ends one of those waits for its parent.
    perform rolecall.hold_tasks(rolecall.with_open_descendants(v_orphans || v_siblings));
    perform rolecall.request_cancellation(v_orphans || v_siblings);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', task.id) || case
            when task.id = any(v_orphans) then '{"state": "failed", "error": "Parent task failed"}'::jsonb
            else '{"state": "cancelled"}'
        end)
        from rolecall.tasks as task
        where task.id = any(v_orphans || v_siblings) and task.state <> 'running'
    ));
end
$$;

-- Takes ended children off their parents' counts; a parent whose last child that was goes on.
-- returns: one row: the keys and endings of parents that ended with that
-- locks: parents in id order
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.settle_parents(p_children rolecall.ending[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_parents bigint[];
    v_numbers int[];
    v_last bigint[];
begin
    select array_agg(parent.parent_id), array_agg(parent.number) into v_parents, v_numbers
    from (
        select child.parent_id, count(*)::int as number
        from unnest(p_children) as child
        group by child.parent_id
    ) as parent;
    perform from rolecall.tasks as task where task.id = any(v_parents) order by task.id for update;
    v_last := array(
        select task.id
        from unnest(v_parents, v_numbers) as ended (id, number)
        join rolecall.tasks as task using (id)
        where task.state = 'waiting' and task.open_children = ended.number
        order by task.id
    );
    update rolecall.tasks as task
    set open_children = nullif(task.open_children - ended.number, 0)
    from unnest(v_parents, v_numbers) as ended (id, number)
    where task.id = ended.id and task.id <> all(v_last);
    return query select * from rolecall.resume_parents(v_last);
end
$$;
