-- Ends claims: each report completes, fails, snoozes or cancels its task, if fence and worker still own it. Results, follow-ups,
-- freed keys and events of one call commit together.
-- returns: one row a report that was not simply accepted: already, or why the task was lost
-- raises: RC031, RC040 for a follow-up that is no task; RC042 for a report of unknown outcome
-- locks: tasks rows in id order; dedupe keys of follow-ups in their order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.finish(p_worker_id bigint, p_reports jsonb)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_done record;
    v_keys text[];
    v_accepted bigint[];
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    if jsonb_path_exists(p_reports, '$[*] ? (@.outcome != "completed")') then
        v_keys := rolecall.lock_claims(p_worker_id, p_reports);
    end if;
    select * into v_done from rolecall.complete_tasks(p_worker_id, p_reports, rolecall.clock());
    -- Before the keys: who waits for a follow-up's dedupe key should keep no key from the others.
    if v_done.follow_ups is not null then
        perform rolecall.store_tasks(v_done.follow_ups, v_done.chain_ids, v_done.chain_indexes);
    end if;
    v_accepted := v_done.ids;
    if cardinality(v_accepted) < jsonb_array_length(p_reports) then
        perform rolecall.check_outcomes(p_reports);
        perform from rolecall.keys where key = any(v_keys) order by key for update;
        v_accepted := v_accepted || rolecall.lose_tasks(p_worker_id, p_reports);
    end if;
    perform rolecall.free_keys(v_done.keys);
    if cardinality(v_accepted) < jsonb_array_length(p_reports) then
        return query
        select report.id, rolecall.why_lost(p_worker_id, report.id, report.fence)
        from jsonb_to_recordset(p_reports) as report (id bigint, fence int)
        where report.id <> all(v_accepted);
    end if;
end
$$;
