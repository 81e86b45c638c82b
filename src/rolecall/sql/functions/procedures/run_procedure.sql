-- Runs a claimed task of a SQL handler and finishes the claim. The procedure's work and the completion
-- commit together; an error undoes both and is reported as a failed attempt. Deadlocks and serialization
-- failures are first retried up to three times.
-- returns: one row: why the claim was lost, or the error of a failed attempt
-- raises: RC050 wrong isolation level; nothing of finish that concerns next tasks
-- locks: what the procedure locks; then as finish does
-- notifies: what the procedure notifies; rolecall_wake, if an idle worker waits for a role
-- public: yes
create or replace function rolecall.run_procedure(
    p_worker_id bigint, p_id bigint, p_fence int, p_owns_transaction boolean default true
)
returns table (lost text, error text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most_retries constant int := 3;
    v_retry int := 0;
    v_tried record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_own_worker(p_worker_id);
    perform rolecall.name_session(p_worker_id, p_id);
    loop
        select * into v_tried from rolecall.try_procedure(p_worker_id, p_id, p_fence, p_owns_transaction);
        exit when (v_tried.code in ('40P01', '40001')) is not true or v_retry = v_most_retries;
        v_retry := v_retry + 1;
        perform pg_sleep(0.1 * 2 ^ (v_retry - 1) + 0.05 * random());
    end loop;
    lost := v_tried.lost;
    error := case v_tried.code
        when '40P01' then format(e'Deadlock detected after %s retries\n%s', v_retry, v_tried.error)
        when '40001' then format(e'Serialization failure after %s retries\n%s', v_retry, v_tried.error)
        else v_tried.error
    end;
    if error is not null then
        select finished.verdict into lost
        from rolecall.finish(p_worker_id, jsonb_build_array(jsonb_build_object(
            'id', p_id, 'fence', p_fence, 'outcome', 'failed', 'error', left(error, 16000)
        ))) as finished;
    elsif lost is null then
        perform rolecall.run_after_hooks(array[p_id]);
    end if;
    perform set_config('rolecall.task', '', true);
    return next;
end
$$;

-- Runs the procedure of a claimed task and completes the task, both or neither.
-- returns: one row: why the claim was lost, or SQLSTATE and text of the error that undid everything
-- locks: what the procedure locks; then as finish does
-- notifies: what the procedure notifies; rolecall_wake, if an idle worker waits for a role
create or replace function rolecall.try_procedure(
    p_worker_id bigint, p_id bigint, p_fence int, p_owns_transaction boolean
)
returns table (lost text, code text, error text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
        -- Constraints deferred to the commit would fail there, outside of this task's savepoint.
        set constraints all immediate;
    end if;
    lost := coalesce(lost, (
        select finished.verdict
        from rolecall.finish(p_worker_id, jsonb_build_array(jsonb_build_object(
            'id', p_id, 'fence', p_fence, 'outcome', 'completed', 'ran',
            extract(epoch from clock_timestamp() - v_began)
        ))) as finished
    ));
    if lost is not null then
        perform rolecall.refuse('RC091', lost);
    end if;
    return next;
exception
    when sqlstate 'RC091' then
        return next;
    when others or assert_failure then
        get stacked diagnostics code = returned_sqlstate, v_message = message_text,
        v_detail = pg_exception_detail,
            v_hint = pg_exception_hint, v_context = pg_exception_context;
        error := rolecall.failure_text(v_message, v_detail, v_hint, v_context);
        return next;
end
$$;

-- Calls the procedure of a SQL handler under its owner's search path, with its current signature: with the
-- info, or with the payload alone.
-- returns: the info that it returns; unchanged if the procedure takes none
-- raises: RC041 the handler has no procedure, or two; whatever the procedure raises
-- locks: what the procedure locks
-- notifies: what the procedure notifies
create or replace function rolecall.call_procedure(p_procedure text, p_payload jsonb, p_info jsonb)
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_with_info constant regprocedure := to_regprocedure(p_procedure || '(jsonb, jsonb)');
    v_without constant regprocedure := to_regprocedure(p_procedure || '(jsonb)');
    v_info jsonb := p_info;
begin
    if p_procedure is null then
        perform rolecall.refuse('RC041', 'no stored procedure is declared as this handler');
    elsif v_with_info is not null and v_without is not null then
        perform rolecall.refuse('RC041', rolecall.told_twice('this handler', p_procedure, false));
    end if;
    perform rolecall.require_lendable(coalesce(v_without, v_with_info));
    perform set_config('search_path', rolecall.path_of_procedures(), true);
    if v_without is not null then
        execute 'call ' || p_procedure || '($1)' using p_payload;
    else
        execute 'call ' || p_procedure || '($1, $2)' into v_info using p_payload, p_info;
    end if;
    return v_info;
end
$$;

-- Formats an error for a task: its message, detail, hint and context, without the engine's own frames in
-- the context.
-- returns: a text of at most 16,000 characters
create or replace function rolecall.failure_text(p_message text, p_detail text, p_hint text, p_context text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(concat_ws(e'\n',
        p_message,
        'detail: ' || nullif(p_detail, ''),
        'hint: ' || nullif(p_hint, ''),
        'context: ' || nullif(regexp_replace(p_context, e'\n[^\n]*rolecall[.]call_procedure[(].*$', ''), '')
    ), 16000)
$$;
