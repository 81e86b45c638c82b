-- Moves the tasks of completed reports that the fence and worker still own to the finished tasks. Skips
-- tasks that have or spawn children, first steps followed by a gather step, and tasks whose cancellation
-- was requested if they report further tasks.
-- returns: one row: which were moved, their keys, the endings that other tasks wait for, and their next
-- tasks
-- locks: tasks rows in id order
create or replace function rolecall.complete_tasks(p_worker_id bigint, p_reports jsonb, p_now timestamptz)
returns table (ids bigint[], keys text[], endings rolecall.ending[], next_tasks jsonb)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    return query
    with report as materialized (
        select * from jsonb_to_recordset(p_reports) as given (
            id bigint, fence int, outcome text, result jsonb, ran float8, next jsonb
        )
        where outcome = 'completed'
        order by id
    ),
    done as (
        delete from rolecall.tasks as task
        using report
        -- The worker is compared in a form that no index supports, so that each row is found by its id.
        where task.id = report.id and task.fence = report.fence and (task.worker_id = p_worker_id) is true
            -- The outcome of a task that has had children, serial or not, depends on how they finished.
            and task.open_children is null and task.serial is null
            and (report.next is null or (
                coalesce(nullif(report.next -> 'children', 'null'), '[]') = '[]'
                and (task.step_number is not null or (report.next -> 'gathers' = 'true') is not true)
            ))
            and (task.cancel_requested_at is null or (report.next ?| '{continuation,siblings}') is not true)
        -- By name, so that columns that are not stored are not carried along.
        returning task.id, task.chain_id, task.chain_index, task.created_at, task.scheduled_for,
            task.claimed_at, task.started_at, task.worker_id, task.line_id, task.fence, task.attempt,
            task.max_attempts, task.key, task.dedupe_key, task.payload, task.retry, task.info,
            task.children_info, coalesce(report.result, task.result) as result, task.origin_id,
            task.parent_id, task.parent_fence, task.depth, task.on_failure, task.dedupe_pending,
            task.timeout, task.trace_context, task.expires_at, task.fire_time, task.needed, report.ran,
            report.next, nullif(report.next -> 'continuation', 'null') is not null as continued
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at,
            worker_id, line_id, fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info,
            result, origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout,
            trace_context, expires_at, fire_time
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at,
            case
                when ran is null then started_at
                else greatest(p_now - make_interval(secs => ran), claimed_at)
            end,
            p_now, worker_id, line_id, fence, attempt, max_attempts, 'completed', key, dedupe_key, payload,
            retry, coalesce(children_info || coalesce(info, '{}'), info), result,
            origin_id, parent_id, parent_fence, depth, on_failure, nullif(continued, false), dedupe_pending,
            timeout, trace_context, expires_at, fire_time
        from done
    )
    -- The rows are in the order of their ids, in which they were deleted; an explicit order would sort
    -- whole rows.
    select
        coalesce(array_agg(id), '{}'),
        (select array_agg(distinct key) from done where key is not null),
        array_agg((
            id, 'completed', chain_id, parent_id, depth, on_failure, needed, continued, null
        )::rolecall.ending) filter (where parent_id is not null or needed),
        jsonb_agg(jsonb_build_object(
            'next', next, 'id', id, 'chain_id', chain_id, 'chain_index', chain_index, 'parent_id', parent_id,
            'parent_fence', parent_fence, 'depth', depth, 'priority',
            (select priority from rolecall.lines where lines.id = line_id),
            'scheduled_for', scheduled_for, 'needed', needed, 'on_failure', on_failure
        )) filter (where next is not null)
    from done;
end
$$;

-- Moves tasks in any open state to the finished tasks. Each item has the state, and optionally a result, an
-- error, the new fence, whether it was not done by a worker (outside), and whether its chain continues
-- (continued). Without a result in the item, a completed task keeps its stored result.
-- returns: one row: their keys, and the endings that other tasks may wait for
-- locks: the caller holds the tasks; what the hooks lock
-- notifies: what the hooks notify
create or replace function rolecall.end_tasks(p_ends jsonb)
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_ids constant bigint[] := array(
        select (item ->> 'id')::bigint from jsonb_array_elements(p_ends) as item
    );
begin
    return query
    with given as materialized (
        select * from jsonb_to_recordset(p_ends) as item (
            id bigint, state rolecall.task_state, result jsonb, error text, fence int, outside boolean,
            continued boolean
        )
    ),
    ended as (
        delete from rolecall.tasks as task
        using given
        where task.id = given.id
        returning task.*, given.state as last_state, given.result as last_result, given.error as last_error,
            coalesce(given.fence, task.fence) as last_fence, given.outside, given.continued
    ),
    kind as materialized (
        select ended.id as task_id, ended.worker_id, line.handler, same.*
        from ended
        join rolecall.lines as line on line.id = ended.line_id
        cross join lateral rolecall.identify_error(
            line.handler, coalesce(ended.last_error, ended.error)
        ) as same
        where ended.last_state = 'failed'
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at,
            worker_id, line_id, fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info,
            result, error,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout,
            trace_context, expires_at, fire_time, error_group
        )
        select
            ended.id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at,
            rolecall.clock(), case when outside is not true then ended.worker_id end, line_id,
            last_fence, attempt, max_attempts, last_state, key, dedupe_key, payload, retry,
            coalesce(children_info || coalesce(info, '{}'), info),
            case when last_state = 'completed' then coalesce(last_result, result) end,
            case when last_state <> 'completed' then coalesce(last_error, error) end,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout,
            trace_context, expires_at, fire_time, kind.group_id
        from ended
        left join kind on kind.task_id = ended.id
    ),
    noted as (
        insert into rolecall.new_failures (
            group_id, handler, type, message, frame, at, failed, retried, sample_id, worker_id
        )
        select group_id, handler, type, message, frame, rolecall.clock(), count(*), 0, max(task_id),
            max(worker_id)
        from kind
        group by group_id, handler, type, message, frame
    )
    select
        array_agg(distinct key) filter (where key is not null),
        array_agg(
            (
                id, last_state, chain_id, parent_id, depth, on_failure, needed, coalesce(continued, false),
                open_children
            )::rolecall.ending
            order by id
        ) filter (where parent_id is not null or needed or open_children is not null)
    from ended;
    perform rolecall.run_after_hooks(v_ids);
    if rolecall.collects_events() then
        perform rolecall.note_ends(v_ids);
    end if;
end
$$;

-- Moves failed and cancelled tasks back to the open tasks, with the same id and fence and with all their
-- attempts available again, each due now or after its delay. They no longer expire, because the retry was
-- requested explicitly. Their parents count them again. The info of a task that had children is reset,
-- because it contains theirs, and there will be new ones.
-- returns: the reopened tasks, without those whose dedupe key an open task has
-- locks: the caller holds them, their open children and their open parents
create or replace function rolecall.bring_back(p_ids bigint[], p_delays float8[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_back bigint[];
begin
    with back as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, fence, max_attempts, key,
            dedupe_key, payload, retry,
            info, error, origin_id, parent_id, parent_fence, depth, on_failure, dedupe_pending, timeout,
            trace_context, fire_time
        )
        select
            id, chain_id, chain_index, created_at,
            v_now + coalesce(
                make_interval(secs => p_delays[array_position(p_ids, ended.id)]), interval '0 s'
            ), line.here, fence, max_attempts, key, dedupe_key,
            payload, retry,
            case
                when not exists (
                    select from rolecall.finished_tasks as child where child.parent_id = ended.id
                )
                    then info
            end,
            error, origin_id, parent_id, parent_fence, depth, on_failure, dedupe_pending, timeout,
            trace_context, fire_time
        from rolecall.finished_tasks as ended
        cross join lateral (
            -- Incompatibilities with earlier workers do not matter any more.
            select rolecall.find_or_add_line(
                last.role, last.handler, last.priority, coalesce(ended.max_attempts = 1, false), '{}'
            ) as here
            from rolecall.lines as last
            where last.id = ended.line_id
        ) as line
        where id = any(p_ids) and state in ('failed', 'cancelled')
        order by dedupe_key, id
        on conflict do nothing
        returning tasks.id
    ),
    gone as (
        delete from rolecall.finished_tasks where id in (select back.id from back)
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select back.id, v_now, 'retried', 0 from back
    )
    select coalesce(array_agg(back.id), '{}') into v_back from back;
    update rolecall.tasks as parent
    set open_children = coalesce(parent.open_children, 0) + child.number
    from (
        select task.parent_id, count(*)::int as number
        from rolecall.tasks as task
        where task.id = any(v_back) and task.parent_id <> all(v_back)
        group by task.parent_id
    ) as child
    where parent.id = child.parent_id;
    update rolecall.tasks as parent
    set open_children = child.number
    from (
        select task.parent_id, count(*)::int as number
        from rolecall.tasks as task
        where task.parent_id = any(v_back)
        group by task.parent_id
    ) as child
    where parent.id = child.parent_id;
    return v_back;
end
$$;

-- Applies the consequences of finished tasks: tasks that needed them are unblocked or fail, open tasks
-- below failed and cancelled ones are finished too, and parents whose last child finished continue, the
-- deepest first. Finally frees the keys of all of them.
-- locks: children that needed one of them, in id order; open tasks below them; then parents, the deepest
-- first, in id order; other tasks that needed one of them, in id order; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for a role; rolecall_cancel with the workers of
-- descendants
create or replace function rolecall.conclude(p_endings rolecall.ending[], p_keys text[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_new rolecall.ending[] := p_endings;
    v_children rolecall.ending[] := '{}';
    v_needed rolecall.ending[] := '{}';
    v_level int;
    v_parents bigint[];
    v_numbers int[];
    v_last bigint[];
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
            select * into v_got from rolecall.settle_blocked(rolecall.resolve_needs(v_new, true));
            v_more := v_got.endings;
            v_keys := v_keys || v_got.keys;
            select * into v_got from rolecall.end_descendants(v_new);
            v_got.endings := v_more || v_got.endings;
        elsif v_children <> '{}' then
            -- All transactions lock parents deepest first, so they cannot deadlock.
            v_level := (select max(ending.depth) from unnest(v_children) as ending);
            select array_agg(parent.id), array_agg(parent.number) into v_parents, v_numbers
            from (
                select child.parent_id, count(*)::int
                from unnest(v_children) as child
                where child.depth = v_level
                group by child.parent_id
            ) as parent (id, number);
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
            select * into v_got from rolecall.resume_parents(v_last);
            v_children := array(select ending from unnest(v_children) as ending where ending.depth < v_level);
        elsif v_needed <> '{}' then
            select * into v_got from rolecall.settle_blocked(rolecall.resolve_needs(v_needed, false));
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

-- Resolves the needs for finished tasks, of children or of other tasks.
-- returns: what became of the dependents, as settle_blocked takes it; null if there are none
-- locks: needs rows
create or replace function rolecall.resolve_needs(p_endings rolecall.ending[], p_children boolean)
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_hits jsonb;
begin
    if not exists (select from unnest(p_endings) as ending where ending.needed) then
        return null;
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
    into v_hits
    from (
        select met.task_id, count(*) as number, min(met.needed_id) filter (where met.fatal) as culprit
        from met
        group by met.task_id
    ) as hit;
    return v_hits;
end
$$;

-- Finishes what failed and cancelled tasks leave open: their own children, and the siblings of a child with
-- on_failure = cancel_siblings. The workers of running ones are notified.
-- returns: one row: the keys and endings of those that finished
-- locks: what hold_tasks locks, of all open tasks below
-- notifies: rolecall_cancel with the workers of running ones
create or replace function rolecall.end_descendants(p_endings rolecall.ending[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
    -- Including all open tasks below them: a transaction that finishes one of those waits for its parent.
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

-- Subtracts resolved needs from the counts of blocked tasks. A task without open needs can run, in its
-- turn; a task with a failed need that it requires fails. Accepts null for no task.
-- returns: one row: the keys and endings of those that failed
-- locks: the tasks in id order
-- notifies: rolecall_wake, if an idle worker waits for a role
create or replace function rolecall.settle_blocked(p_hits jsonb)
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
    v_ready bigint[];
begin
    if p_hits is null then
        return;
    end if;
    perform from rolecall.tasks as task
    where task.id = any(array(select (hit -> 'id')::bigint from jsonb_array_elements(p_hits) as hit))
        and task.state = 'blocked'
    order by task.id
    for update;
    with hit as (
        select * from jsonb_to_recordset(p_hits) as given (id bigint, number int, culprit bigint)
    ),
    moved as (
        update rolecall.tasks as task
        set open_needs = nullif(task.open_needs - hit.number, 0),
            state = case
                when task.open_needs > hit.number then 'blocked'
                else 'pending'
            end::rolecall.task_state,
            -- A child keeps its position, together with its tree; other tasks do not jump the queue with an
            -- old date.
            scheduled_for = case
                when task.open_needs > hit.number or task.parent_id is not null then task.scheduled_for
                else greatest(task.scheduled_for, v_now)
            end
        from hit
        where task.id = hit.id and task.state = 'blocked' and hit.culprit is null
        returning task.id, task.line_id, task.state
    )
    select array_agg(moved.line_id), array_agg(moved.id) into v_lines, v_ready
    from moved
    where moved.state = 'pending';
    perform rolecall.wake_lines(v_lines);
    if rolecall.collects_events() then
        perform rolecall.note_open('job_unblocked', v_ready);
    end if;
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object(
            'id', task.id, 'state', 'failed', 'error',
            format('dependency failed: task %s, which this one needs, did not complete', hit.culprit)
        ))
        from jsonb_to_recordset(p_hits) as hit (id bigint, culprit bigint)
        join rolecall.tasks as task using (id)
        where hit.culprit is not null and task.state = 'blocked'
    ));
end
$$;

-- Continues parents whose last child has finished: with their gather step, or, if they have none, by
-- finishing them. A parent fails if a child failed whose failure it shares. The infos of the children are
-- combined and stored next to the parent's own info.
-- returns: one row: the keys and endings of those that finished
-- locks: the caller holds the tasks
-- notifies: rolecall_wake, if an idle worker waits for a role
create or replace function rolecall.resume_parents(p_ids bigint[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_failed bigint[];
    v_going_on bigint[];
    v_lines int[];
begin
    if cardinality(p_ids) = 0 then
        return;
    end if;
    with parent as (
        update rolecall.tasks as task
        set children_info = summary.info
        from (
            select given.id, children.* from unnest(p_ids) as given (id)
            join rolecall.tasks as waiting using (id)
            cross join lateral rolecall.sum_up_children(
                waiting.id, waiting.fence, waiting.created_at, waiting.children_info
            ) as children
        ) as summary
        where task.id = summary.id
        returning task.id, task.gathers, task.line_id, summary.failed
    )
    select array_agg(parent.id) filter (where failed > 0),
        array_agg(parent.id) filter (where failed = 0 and gathers),
        array_agg(parent.line_id) filter (where failed = 0 and gathers)
    into v_failed, v_going_on, v_lines
    from parent;
    update rolecall.tasks as task
    set state = 'pending', step_number = coalesce(task.step_number, 0) + 1,
        gathers = null, serial = null, open_children = null,
        attempt = 0, refunds = 0, worker_id = null, claimed_at = null, started_at = null, lease_until = null,
        deadline_at = null
    where task.id = any(v_going_on);
    perform rolecall.wake_lines(v_lines);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', given.id) || case
            when given.id = any(v_failed)
                then '{"state": "failed", "error": "One or more child tasks failed"}'::jsonb
            else '{"state": "completed"}'
        end)
        from unnest(p_ids) as given (id)
        where (given.id = any(v_going_on)) is not true
    ));
end
$$;

-- Combines the results of the finished children that one claim of a task spawned, including those of their
-- chains, and adds them to the stored sums. No child finished before its parent was created, so earlier
-- partitions are not read.
-- returns: one row: the number of failures that the parent shares, and the combined infos: numbers are
-- added, otherwise the last child's value is used
create or replace function rolecall.sum_up_children(
    p_parent_id bigint, p_fence int, p_created_at timestamptz, p_before jsonb
)
returns table (failed bigint, info jsonb)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
-- A plan for these values skips the partitions of other days.
set plan_cache_mode = force_custom_plan
as $$
begin
    return query
    with child as materialized (
        select task.id, task.info, task.state <> 'completed'
            and coalesce(task.on_failure <> 'ignore', true) as shared
        from rolecall.finished_tasks as task
        where task.parent_id = p_parent_id and task.parent_fence = p_fence
            and task.finished_at >= p_created_at
        union all
        select 0, p_before, false
    )
    select
        (select count(*) from child where shared),
        (
            select jsonb_object_agg(key, case when numbers then to_jsonb(total) else last end)
            from (
                select fact.key, bool_and(jsonb_typeof(fact.value) = 'number') as numbers,
                    sum(case when jsonb_typeof(fact.value) = 'number' then fact.value::numeric end) as total,
                    (array_agg(fact.value order by child.id desc))[1] as last
                from child
                cross join lateral jsonb_each(child.info) as fact
                group by fact.key
            ) as facts
        );
end
$$;
