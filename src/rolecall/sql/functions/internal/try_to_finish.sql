-- Ends claims as finish does, unless something was waited for too long, or came meanwhile.
-- returns: one row a report that was not simply accepted: already, or why the task was lost
-- raises: RC031, RC040 for a next task that is none; RC042 for a report of unknown outcome; RC043 for needs in a circle; 55P03, RC090 undo this and try again
-- locks: other calls that report needs; tasks rows in id order; dedupe keys of next tasks in their order; dependents and parents, level by level; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role; rolecall_cancel for what ends with a task
create or replace function rolecall.try_to_finish(p_worker_id bigint, p_reports jsonb)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_done record;
    v_stopped bigint[];
    v_other record;
    v_accepted bigint[];
    v_keys text[];
    v_endings rolecall.ending[];
begin
    if jsonb_path_exists(p_reports, '$[*] ? (@.outcome == "blocked")') then
        -- Two that came to need each other at once would not see the circle.
        perform pg_advisory_xact_lock(7246926, -2);
    end if;
    if jsonb_path_exists(p_reports, '$[*] ? (@.outcome != "completed" || exists (@.next.children))') then
        perform rolecall.lock_claims(p_worker_id, p_reports);
    end if;
    select * into v_done from rolecall.complete_tasks(p_worker_id, p_reports, rolecall.clock());
    v_accepted := v_done.ids;
    v_keys := v_done.keys;
    v_endings := v_done.endings;
    -- Before the keys: who waits for a next task's dedupe key should keep no key from the others.
    if v_done.next_tasks is not null then
        v_stopped := rolecall.store_next(v_done.next_tasks);
        if v_stopped <> '{}' then
            v_endings := array(
                select (
                    done.id, state, chain_id, parent_id, depth, on_failure, needed, continued and done.id <> all(v_stopped), null
                )::rolecall.ending
                from unnest(v_endings) as done
            );
        end if;
    end if;
    if cardinality(v_accepted) < jsonb_array_length(p_reports) then
        perform rolecall.check_outcomes(p_reports);
        select * into v_other from rolecall.suspend_tasks(p_worker_id, p_reports, v_endings);
        v_accepted := v_accepted || v_other.ids;
        v_keys := v_keys || v_other.keys;
        v_endings := v_endings || v_other.endings;
        select * into v_other from rolecall.lose_tasks(p_worker_id, p_reports);
        v_accepted := v_accepted || v_other.ids;
        v_keys := v_keys || v_other.keys;
        v_endings := v_endings || v_other.endings;
        if v_other.needy is not null then
            perform rolecall.link_needs(v_other.needy, null);
        end if;
    end if;
    perform rolecall.conclude(v_endings, v_keys);
    if cardinality(v_accepted) < jsonb_array_length(p_reports) then
        return query
        select report.id, rolecall.why_lost(p_worker_id, report.id, report.fence)
        from jsonb_to_recordset(p_reports) as report (id bigint, fence int)
        where report.id <> all(v_accepted);
    end if;
end
$$;
