-- Ends claims as finish does, for a transaction in which the caller writes too: what this very transaction
-- has ended before is accepted again. After any verdict the caller must undo what it wrote; after already
-- because a transaction before this one has completed the task, and wrote it.
-- returns: one row a report that was not accepted: already, or why the task was lost
-- raises: as finish
-- locks: as finish does
-- notifies: as finish does
-- public: yes
create or replace function rolecall.finish_here(p_worker_id bigint, p_reports jsonb)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Undone with the transaction or the savepoint, and forgotten at its end, as what it tells is.
    v_ended constant bigint[] := coalesce(nullif(current_setting('rolecall.ended_here', true), ''), '{}');
    v_ids bigint[];
    v_verdicts text[];
begin
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
