-- Runs the procedure of a claimed task and completes the task, both or neither.
-- returns: one row: why the claim is lost, if it is; else SQLSTATE and text of the error that undid everything, if one did
-- raises: nothing
-- locks: what the procedure locks; then as finish does
-- notifies: what the procedure notifies; rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.try_procedure(p_worker_id bigint, p_id bigint, p_fence int, p_owns_transaction boolean)
returns table (lost text, code text, error text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_began timestamptz := clock_timestamp();
    v_task record;
    v_info jsonb;
    v_message text;
    v_detail text;
    v_hint text;
    v_context text;
begin
    select task.payload, coalesce(task.info, '{}') as info, handler.procedure into v_task
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    left join rolecall.handlers as handler on handler.name = line.handler
    where task.id = p_id and task.fence = p_fence and (task.worker_id = p_worker_id) is true;
    if not found then
        lost := rolecall.why_lost(p_worker_id, p_id, p_fence);
        return next;
        return;
    end if;
    v_info := rolecall.call_procedure(v_task.procedure, v_task.payload, v_task.info);
    if v_info is distinct from v_task.info and v_info is not null then
        lost := rolecall.report_info(p_worker_id, p_id, p_fence, v_info);
    end if;
    if p_owns_transaction then
        -- What is deferred to the commit would fail there, out of reach of this task's savepoint.
        set constraints all immediate;
    end if;
    lost := coalesce(lost, (select finished.verdict from rolecall.finish(p_worker_id, jsonb_build_array(jsonb_build_object(
        'id', p_id, 'fence', p_fence, 'outcome', 'completed', 'ran', extract(epoch from clock_timestamp() - v_began)
    ))) as finished));
    if lost is not null then
        perform rolecall.refuse('RC091', lost);
    end if;
    return next;
exception
    when sqlstate 'RC091' then
        return next;
    when others or assert_failure then
        get stacked diagnostics code = returned_sqlstate, v_message = message_text, v_detail = pg_exception_detail,
            v_hint = pg_exception_hint, v_context = pg_exception_context;
        error := rolecall.failure_text(v_message, v_detail, v_hint, v_context);
        return next;
end
$$;
