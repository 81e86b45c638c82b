-- Ends claims: each report completes, fails, snoozes, blocks, cancels or (not begun) returns its task, if
-- fence and worker still own it. Results, what comes next, who waited for it, freed keys and events of one
-- call commit together.
-- returns: one row a report that was not simply accepted: already, or why the task was lost
-- raises: RC031, RC040 for a next task that is none; RC042 for a report of unknown outcome; RC043 for needs
-- in a circle; RC044 for siblings of a task whose parent is not open; RC045 for a dedupe_key that is to be
-- new; RC050 wrong isolation level
-- locks: other calls that report needs; tasks rows in id order; dedupe keys of next tasks in their order;
-- dependents and parents, level by level; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role; rolecall_cancel for what ends with a task
-- public: yes
create or replace function rolecall.finish(p_worker_id bigint, p_reports jsonb)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
