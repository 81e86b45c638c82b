-- Runs a SQL handler's hook before its procedure, in a separate transaction, so that others see its changes
-- while the procedure runs.
-- locks: what the hook locks
-- notifies: what the hook notifies
-- public: yes
create or replace function rolecall.run_before_hook(p_worker_id bigint, p_id bigint, p_fence int)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_task record;
begin
    perform rolecall.require_own_worker(p_worker_id);
    select task.payload, handler.before_procedure into v_task
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    join rolecall.handlers as handler on handler.name = line.handler
    where task.id = p_id and task.fence = p_fence and (task.worker_id = p_worker_id) is true
        and handler.before_procedure is not null;
    if found then
        perform rolecall.name_session(p_worker_id, p_id);
        perform rolecall.run_hook(p_id, v_task.before_procedure, v_task.payload);
        perform set_config('rolecall.task', '', true);
    end if;
end
$$;

-- Runs the hooks after the procedure for completed and failed tasks whose handlers have one.
-- locks: what the hooks lock
-- notifies: what the hooks notify
create or replace function rolecall.run_after_hooks(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (select from rolecall.handlers where after_procedure is not null) then
        perform rolecall.run_hook(task.id, handler.after_procedure, task.payload)
        from rolecall.finished_tasks as task
        join rolecall.lines as line on line.id = task.line_id
        join rolecall.handlers as handler on handler.name = line.handler
        where task.id = any(p_ids) and task.state in ('completed', 'failed')
            and handler.after_procedure is not null;
    end if;
end
$$;

-- Runs a hook of a task under its owner's search path, with the payload if it takes one. An error undoes the
-- hook's changes and is reported as a warning.
-- locks: what the hook locks
-- notifies: what the hook notifies
create or replace function rolecall.run_hook(p_id bigint, p_procedure text, p_payload jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = 0
as $$
declare
    v_current text := coalesce(current_setting('rolecall.task', true), '');
    v_with_payload regprocedure;
begin
    v_with_payload := to_regprocedure(p_procedure || '(jsonb)');
    perform rolecall.require_lendable(coalesce(v_with_payload, to_regprocedure(p_procedure || '()')));
    perform set_config('rolecall.task', p_id::text, true);
    perform set_config('search_path', rolecall.path_of_procedures(), true);
    set local lock_timeout to default;
    if v_with_payload is not null then
        execute 'call ' || p_procedure || '($1)' using p_payload;
    else
        execute 'call ' || p_procedure || '()';
    end if;
    perform pg_catalog.set_config('rolecall.task', v_current, true);
exception when others or assert_failure then
    raise warning 'hook % of task % failed: %', p_procedure, p_id, sqlerrm;
end
$$;

-- Returns the search path for procedures and hooks: in the owner's session its default, in other sessions
-- the owner's. With a caller's path, the caller would determine which tables and functions the procedure
-- uses with the owner's rights.
-- returns: the path
create or replace function rolecall.path_of_procedures()
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select case when rolecall.is_owners_session() then own.reset_val else coalesce((
        select substr(setting, length('search_path=') + 1)
        from pg_catalog.pg_db_role_setting as stored, unnest(stored.setconfig) as setting
        where setting like 'search_path=%' and stored.setrole in (0, current_user::regrole)
            and stored.setdatabase in (
                0, (select oid from pg_catalog.pg_database where datname = current_database())
            )
        order by stored.setrole <> 0 desc, stored.setdatabase <> 0 desc
        limit 1
    ), 'public') || ', pg_temp' end
    from pg_catalog.pg_settings as own
    where own.name = 'search_path'
$$;
