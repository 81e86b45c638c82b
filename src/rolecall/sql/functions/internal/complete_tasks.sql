-- Moves the completed among some reports into the finished tasks, where the fence and the worker still own them.
-- returns: one row: which moved, their keys, and the follow-ups that their reports carry, with the chain of each
-- raises: nothing
-- locks: tasks rows in id order
-- notifies: nothing
create or replace function rolecall.complete_tasks(p_worker_id bigint, p_reports jsonb, p_now timestamptz)
returns table (ids bigint[], keys text[], follow_ups jsonb, chain_ids bigint[], chain_indexes int[])
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    return query
    with report as materialized (
        select * from jsonb_to_recordset(p_reports) as given (
            id bigint, fence int, outcome text, result jsonb, ran float8, follow_ups jsonb
        )
        where outcome = 'completed'
        order by id
    ),
    done as (
        delete from rolecall.tasks as task
        using report
        -- The worker is compared in a form that no index serves: each row is to be found by its id.
        where task.id = report.id and task.fence = report.fence and (task.worker_id = p_worker_id) is true
        returning task.*, report.result, report.ran, report.follow_ups
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, result
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at,
            coalesce(greatest(p_now - make_interval(secs => ran), claimed_at), started_at), p_now, worker_id, line_id,
            fence, attempt, max_attempts, 'completed', key, dedupe_key, payload, retry, info, result
        from done
    ),
    follow_up as (
        select jsonb_agg(task order by id, n) as tasks, array_agg(chain_id order by id, n) as chain_ids,
            array_agg(chain_index + 1 order by id, n) as chain_indexes
        from done
        cross join lateral jsonb_array_elements(follow_ups) with ordinality as follow_up (task, n)
    )
    select moved.ids, moved.keys, follow_up.tasks, follow_up.chain_ids, follow_up.chain_indexes
    from follow_up
    cross join (
        select coalesce(array_agg(id), '{}') as ids, array_agg(distinct key) filter (where key is not null) as keys
        from done
    ) as moved;
end
$$;
