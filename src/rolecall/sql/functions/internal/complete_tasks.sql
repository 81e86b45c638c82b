-- Moves the completed among some reports into the finished tasks, where the fence and the worker still own them; not those that
-- have children to wait for or to be judged by, nor those that are to be cancelled and would let more come.
-- returns: one row: which moved, their keys, who waits for them, and what their reports say comes next
-- raises: nothing
-- locks: tasks rows in id order
-- notifies: nothing
create or replace function rolecall.complete_tasks(p_worker_id bigint, p_reports jsonb, p_now timestamptz)
returns table (ids bigint[], keys text[], endings rolecall.ending[], next_tasks jsonb)
language plpgsql
volatile
set search_path = ''
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
        -- The worker is compared in a form that no index serves: each row is to be found by its id.
        where task.id = report.id and task.fence = report.fence and (task.worker_id = p_worker_id) is true
            -- Who has had children, of whichever kind, is judged by how they ended.
            and task.open_children is null and task.serial is null and nullif(report.next -> 'children', 'null') is null
            and (task.cancel_requested_at is null or (report.next ?| '{continuation,siblings}') is not true)
        returning task.*, report.result as last_result, report.ran, report.next,
            nullif(report.next -> 'continuation', 'null') is not null as continued
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, result,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at,
            coalesce(greatest(p_now - make_interval(secs => ran), claimed_at), started_at), p_now, worker_id, line_id,
            fence, attempt, max_attempts, 'completed', key, dedupe_key, payload, retry,
            coalesce(children_info || coalesce(info, '{}'), info), coalesce(last_result, result),
            origin_id, parent_id, parent_fence, depth, on_failure, nullif(continued, false), dedupe_pending, timeout
        from done
    )
    select
        coalesce(array_agg(id), '{}'),
        array_agg(distinct key) filter (where key is not null),
        array_agg((
            id, 'completed', chain_id, parent_id, depth, on_failure, needed, continued, null
        )::rolecall.ending order by id) filter (where parent_id is not null or needed),
        jsonb_agg(jsonb_build_object(
            'next', next, 'id', id, 'chain_id', chain_id, 'chain_index', chain_index, 'parent_id', parent_id,
            'parent_fence', parent_fence, 'depth', depth, 'priority', (select priority from rolecall.lines where lines.id = line_id),
            'scheduled_for', scheduled_for, 'needed', needed, 'on_failure', on_failure
        ) order by id) filter (where next is not null)
    from done;
end
$$;
