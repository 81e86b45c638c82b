-- Finishes claims as finish does, in a transaction in which the caller also writes. Reports that this same
-- transaction has already stored are accepted again. After any verdict the caller must roll back its
-- writes; after already, because an earlier transaction completed the task and made them. The transaction
-- holds the task rows until it ends, so its duration is limited (bound_completion).
-- returns: one row for each report that was not accepted: already, or why the task was lost
-- raises: as finish
-- locks: as finish
-- notifies: as finish
-- public: yes
create or replace function rolecall.finish_here(p_worker_id bigint, p_reports jsonb)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Transaction-local, so it is reset together with the changes that it records.
    v_ended constant bigint[] := coalesce(nullif(current_setting('rolecall.ended_here', true), ''), '{}');
    v_ids bigint[];
    v_verdicts text[];
begin
    perform rolecall.bound_completion(p_worker_id, p_reports);
    select coalesce(array_agg(answer.task_id), '{}'), coalesce(array_agg(answer.verdict), '{}')
    into v_ids, v_verdicts
    from rolecall.finish(p_worker_id, p_reports) as answer;
    perform set_config('rolecall.ended_here', (v_ended || array(
        select report.id
        from jsonb_to_recordset(p_reports) as report (id bigint)
        where report.id <> all(v_ids)
    ))::text, true);
    return query
    select answer.id, answer.verdict
    from unnest(v_ids, v_verdicts) as answer (id, verdict)
    where answer.verdict <> 'already' or answer.id <> all(v_ended);
end
$$;

-- Limits the current transaction, which completes claims: the server ends its session once it has been idle
-- for the remaining time of their leases and deadlines, but at least for a second. A shorter timeout of the
-- session is kept. The session's application name contains the id of one of the tasks, so that a rescue can
-- find it.
create or replace function rolecall.bound_completion(p_worker_id bigint, p_reports jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_timeout constant interval := nullif(
        current_setting('idle_in_transaction_session_timeout')::interval, '0 s'
    );
    v_left interval;
    v_id bigint;
begin
    select min(least(task.lease_until, task.deadline_at)) - rolecall.clock(), min(task.id) into v_left, v_id
    from jsonb_array_elements(p_reports) as report
    cross join lateral (
        select held.id, held.lease_until, held.deadline_at
        from rolecall.tasks as held
        where held.id = (report -> 'id')::bigint and held.worker_id = p_worker_id and held.state = 'running'
        offset 0
    ) as task;
    if v_id is null then
        return;
    end if;
    perform set_config('application_name', format('rolecall:worker:%s:finish:%s', p_worker_id, v_id), true),
        set_config(
            'idle_in_transaction_session_timeout',
            ceil(1000 * extract(epoch from least(v_timeout, greatest(v_left, '1 s'))))::text, true
        );
end
$$;
