-- Merges facts into the info of a running task.
-- returns: null, or why the claim was lost
-- raises: RC040 the info is not an object
-- locks: the tasks row
-- public: yes
create or replace function rolecall.report_info(p_worker_id bigint, p_id bigint, p_fence int, p_info jsonb)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.require_own_worker(p_worker_id);
    if jsonb_typeof(p_info) is distinct from 'object' then
        perform rolecall.refuse('RC040', 'info is an object');
    end if;
    update rolecall.tasks as task
    set info = coalesce(task.info, '{}') || p_info
    where task.id = p_id and task.fence = p_fence and task.worker_id = p_worker_id and task.state = 'running';
    return case
        when not found
            then (
                select lost.reason from rolecall.lost_claims(p_worker_id, array[p_id], array[p_fence]) as lost
            )
    end;
end
$$;
