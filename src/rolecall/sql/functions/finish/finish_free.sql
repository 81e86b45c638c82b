-- Ends claims as finish does, but waits for nobody's open transaction: what one keeps from being stored comes
-- back as busy, to be sent again, and the others are stored. The first try is for all together, unless
-- p_apart says that there were busy ones before.
-- returns: one row a report that was not simply accepted: busy (nothing of it is stored), already, or why the
-- task was lost
-- raises: as finish
-- locks: as finish; for each wait a tenth of a second at most, for all together half a second
-- notifies: as finish
-- public: yes
create or replace function rolecall.finish_free(
    p_worker_id bigint, p_reports jsonb, p_apart boolean default false
)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    if not p_apart then
        begin
            return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- Somebody has something that one of them needs: now each for itself.
            null;
        end;
    end if;
    return query
    select apart.task_id, apart.verdict
    from rolecall.finish_apart(
        p_worker_id, rolecall.children_together(p_reports), clock_timestamp() + interval '400 ms'
    ) as apart;
end
$$;

-- Ends those claims that can be ended at once: all of them, else the halves each for itself, until it is
-- found who is kept waiting.
-- returns: one row a report that was not simply accepted: busy, already, or why the task was lost
-- raises: as finish
-- locks: as finish, waiting a moment only
-- notifies: as finish
create or replace function rolecall.finish_apart(p_worker_id bigint, p_reports jsonb, p_until timestamptz)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '10ms'
as $$
begin
    begin
        return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_reports) = 1
        or clock_timestamp() > p_until
        or rolecall.have_one_parent(p_reports) then
        return query select (report -> 'id')::bigint, 'busy' from jsonb_array_elements(p_reports) as report;
    else
        return query
        select apart.task_id, apart.verdict
        from rolecall.halves(p_reports) as half
        cross join lateral rolecall.finish_apart(p_worker_id, half, p_until) as apart;
    end if;
end
$$;
