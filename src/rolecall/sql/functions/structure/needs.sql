-- Links blocked tasks with their needs. Needs that have already finished are met immediately, or fail the
-- task. Open ones are marked as needed under their lock, so that they cannot finish in between.
-- raises: RC040 a need does not exist, or is later in the batch; RC043 circular needs
-- locks: the needed tasks, children before parents
-- notifies: rolecall_wake, if an idle worker waits for a role
create or replace function rolecall.link_needs(p_needy jsonb, p_batch_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_ids bigint[] := array(select (needy -> 'id')::bigint from jsonb_array_elements(p_needy) as needy);
    v_circle record;
    v_hits jsonb;
    v_failed record;
begin
    perform rolecall.store_needs(p_needy, p_batch_ids);
    perform rolecall.mark_needed(v_ids);
    -- A new task is known only to its parent, to tasks that need its chain, and to tasks stored after it.
    for v_circle in
        select array_agg(waiting.id) as ids, target.id as target
        from rolecall.tasks as waiting
        cross join lateral (
            select case
                when p_batch_ids is null or waiting.chain_index > 0 then waiting.id
                else waiting.parent_id
            end as id
        ) as target
        where waiting.id = any(v_ids) and target.id is not null
        group by target.id
    loop
        perform rolecall.refuse_circle(v_circle.ids, v_circle.target);
    end loop;
    with met as (
        update rolecall.needs as need
        set outcome = rolecall.outcome_of(need.needed_id, need.whole_chain)
        where need.task_id = any(v_ids) and need.outcome is null
            and not rolecall.is_open(need.needed_id, need.whole_chain)
        returning need.task_id, need.needed_id, need.outcome, need.on_failure
    )
    select jsonb_agg(jsonb_build_object('id', hit.task_id, 'number', hit.number, 'culprit', hit.culprit))
    into v_hits
    from (
        select met.task_id, count(*) as number,
            min(met.needed_id) filter (
                where met.on_failure = 'fail' and met.outcome <> 'completed'
            ) as culprit
        from met
        where case when met.outcome is null
            then rolecall.refuse(
                'RC040', format('task %s needs %s, which does not exist', met.task_id, met.needed_id)
            )
            else true
        end
        group by met.task_id
    ) as hit;
    select * into v_failed from rolecall.settle_blocked(v_hits);
    if num_nonnulls(v_failed.endings, v_failed.keys) > 0 then
        perform rolecall.conclude(v_failed.endings, v_failed.keys);
    end if;
end
$$;

-- Stores the needs of tasks, in the order declared, after the needs that they had before. Any task of a
-- chain can stand for the chain.
-- raises: RC040 a need that does not come earlier, in the batch or at all, or a name given twice; RC043 a
-- task that needs itself
create or replace function rolecall.store_needs(p_needy jsonb, p_batch_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into rolecall.needs (task_id, position, name, needed_id, whole_chain, on_failure)
    select want.id, coalesce(known.number, 0) + want.n, want.name,
        case
            when want.chain_id is null then want.needed_id
            else coalesce(
                (select task.chain_id from rolecall.tasks as task where task.id = want.chain_id),
                (select task.chain_id from rolecall.find_finished(array[want.chain_id]) as task limit 1),
                want.chain_id
            )
        end,
        want.chain_id is not null, want.on_failure
    from (
        select needy.id, item.n, item.need ->> 'name' as name, (item.need ->> 'chain')::bigint as chain_id,
            (item.need ->> 'item')::bigint + 1 as place,
            coalesce(item.need ->> 'on_failure', 'fail')::rolecall.need_rule as on_failure,
            case jsonb_typeof(item.need)
                when 'number' then item.need::bigint
                else coalesce(
                    (item.need ->> 'task')::bigint, (item.need ->> 'chain')::bigint,
                    p_batch_ids[(item.need ->> 'item')::bigint + 1]
                )
            end as needed_id
        from jsonb_to_recordset(p_needy) as needy (id bigint, needs jsonb)
        cross join lateral jsonb_array_elements(needy.needs) with ordinality as item (need, n)
    ) as want
    left join lateral (
        select max(position) as number from rolecall.needs where needs.task_id = want.id
    ) as known on true
    where case
            when p_batch_ids is null then want.needed_id <> want.id
            -- An earlier draft of the batch may have an existing task, which may be younger.
            when want.place is not null then want.place < array_position(p_batch_ids, want.id)
            else want.needed_id < want.id
        end is true
        or case when want.needed_id = want.id
            then rolecall.refuse('RC043', format('task %s would wait for itself', want.id))
            else rolecall.refuse(
                'RC040', format('task %s can only need tasks that were enqueued before it', want.id)
            )
        end;
exception when unique_violation then
    perform rolecall.refuse('RC040', 'two needs of one task have the same name');
end
$$;

-- Locks and marks the open needs of tasks: tasks, and the open tasks of chains.
-- returns: which are open
-- locks: those, children before parents, in id order
create or replace function rolecall.mark_needed(p_task_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids bigint[] := array(
        select needed_id from rolecall.needs where task_id = any(p_task_ids) and outcome is null
    );
    v_chains bigint[] := array(
        select needed_id
        from rolecall.needs
        where task_id = any(p_task_ids) and outcome is null and whole_chain
    );
    v_held bigint[];
begin
    loop
        v_held := rolecall.hold_in_order(v_ids || array(
            select link.id
            from rolecall.tasks as link
            where link.chain_id = any(v_chains) and link.chain_index > 0
        ));
        -- A chain may have continued while its last task was waited for.
        exit when not exists (
            select from rolecall.tasks as link
            where link.chain_id = any(v_chains) and link.chain_index > 0 and link.id <> all(v_held)
        );
    end loop;
    update rolecall.tasks as task set needed = true where task.id = any(v_held) and task.needed is not true;
    return v_held;
end
$$;

-- Locks the needs of new children before their parent is locked: a transaction that finishes one of those
-- holds it and waits for the parent. Serial children need the last existing one.
-- locks: the needed tasks, children before parents, in id order
create or replace function rolecall.hold_needed(p_drafts jsonb, p_parent_id bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_needed bigint[] := array(
        select need::numeric::bigint
        from unnest('{$[*].needs[*],$[*].needs[*].task,$[*].needs[*].chain}'::jsonpath[]) as path
        cross join lateral jsonb_path_query(p_drafts, path) as need
        where case when jsonb_typeof(need) = 'number' then need::numeric between 0 and 9e18 else false end
    );
    v_last bigint := (
        select (select max(child.id) from rolecall.tasks as child where child.parent_id = parent.id)
        from rolecall.tasks as parent
        where parent.id = p_parent_id and parent.serial
    );
begin
    perform rolecall.hold_in_order(v_needed || v_last);
end
$$;

-- Locks open tasks in any state, in the order that all transactions use that do not wait for keys.
-- returns: which of them are open
-- locks: those: first those without children in id order, then parents, the deepest first, in id order
create or replace function rolecall.hold_in_order(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids)
        order by case when task.open_children is not null then coalesce(task.depth, 0) end desc nulls first,
            task.id
        for update
    );
end
$$;

-- Rejects tasks that would wait for a task that waits for them, through needs, children, and keys with a
-- capacity of 1 that others hold.
-- raises: RC043 a circle
create or replace function rolecall.refuse_circle(p_ids bigint[], p_target bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
    if exists (
        with recursive wait as (
            select id, false as is_reached from unnest(p_ids) as given (id)
            union
            select next.id, true
            from wait
            cross join lateral (
                select task.id from rolecall.needs as need
                join rolecall.tasks as task on task.id = need.needed_id
                -- A further path from a task that the target waits for anyway would already be a circle.
                where need.task_id = wait.id and need.outcome is null
                    and task.parent_id is distinct from p_target
                union all
                select task.id from rolecall.needs as need
                join rolecall.tasks as task on task.chain_id = need.needed_id and task.chain_index > 0
                where need.task_id = wait.id and need.outcome is null and need.whole_chain
                    and task.parent_id is distinct from p_target
                union all
                select child.id from rolecall.tasks as child where child.parent_id = wait.id
                union all
                select holder.id from rolecall.tasks as task
                join rolecall.tasks as holder on holder.key = task.key and holder.key_slot is not null
                where task.id = wait.id and task.key_slot is null
                    and (select room.capacity from rolecall.room_of_keys(array[task.key]) as room) = 1
            ) as next
        )
        select from wait where wait.id = p_target and wait.is_reached
    ) then
        perform rolecall.refuse(
            'RC043', format('task %s would wait for itself: through needs, children or a key', p_target)
        );
    end if;
end
$$;

-- Returns the outcome of a task, or of a chain, which is that of its last task.
-- returns: the state; null if it is open or does not exist
create or replace function rolecall.outcome_of(p_id bigint, p_whole_chain boolean)
returns rolecall.task_state
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_state rolecall.task_state;
begin
    if p_whole_chain then
        v_state := (
            select task.state from rolecall.finished_tasks as task
            where task.chain_id = p_id and task.chain_index > 0
            order by task.chain_index desc
            limit 1
        );
    end if;
    return coalesce(v_state, (
        select task.state
        from rolecall.find_finished(array[p_id]) as task
        order by task.finished_at desc limit 1
    ));
end
$$;

-- Returns whether a task, or any task of a chain, is still open.
create or replace function rolecall.is_open(p_id bigint, p_whole_chain boolean)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select exists (select from rolecall.tasks where id = p_id)
        or (p_whole_chain and exists (select from rolecall.tasks where chain_id = p_id and chain_index > 0))
$$;
