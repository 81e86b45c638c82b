-- Creates the four database roles of least privilege, if they are missing, and grants the rights of each in this database.
-- Run by the owner of schema rolecall; it can be repeated. Make logins members:  grant rolecall_work to someone;
--
--   rolecall_enqueue   store tasks
--   rolecall_read      read tasks, workers, roles and schedules, but no secrets and not the audit log
--   rolecall_work      the same two, and be a worker: claim, run and finish tasks, declare, run maintenance duties
--   rolecall_operate   the same two, and everything that the API and the CLI do: cancel, retry, pause, keys, people, audit log
--
-- None of them may write to a table. They call functions that run with the owner's rights. A function that was applied again has
-- no grants until this file has run, which migrate does in the same transaction. Functions that are in no list are the owner's
-- alone: declaring procedures (they run with the owner's rights), and process_tasks, which commits.
do $roles$
declare
    v_all constant text[] := array['rolecall_enqueue', 'rolecall_read', 'rolecall_work', 'rolecall_operate'];
    v_enqueue constant text[] := array['collect_events', 'collected_events', 'enqueue', 'enqueue_many'];
    v_read constant text[] := array[
        'ancestors_of', 'attempts', 'busiest_keys', 'capacity', 'changes', 'children_in_order', 'children_of', 'contested_declarations', 'count_children', 'count_for_action', 'counts',
        'counts_of_run', 'current_task', 'dependents_of', 'due_by_hour', 'duties_now', 'failed_siblings',
        'failures_of_group', 'find_chains', 'find_error_groups', 'find_log_lines', 'find_names', 'find_tasks',
        'history', 'key_capacities', 'keys_now', 'latest_stack',
        'list_chains', 'needs_among', 'needs_of', 'needs_of_tasks', 'outline', 'parents_among', 'parts_of_chain', 'pods_at_work', 'pool_gauges', 'problems', 'progress',
        'role_progress', 'roles_now', 'scale_target', 'sibling_groups', 'timeline', 'transactions_elsewhere', 'tree', 'why', 'work_in_hand'
    ];
    -- Maintenance duties run in workers and in API servers.
    v_upkeep constant text[] := array[
        'declare', 'declare_key_capacities', 'declare_release', 'due_cron', 'end_pauses', 'ensure_schedules', 'expire', 'find_expired',
        'fire_cron', 'fire_schedules', 'group_failures', 'look_at_duties', 'make_partitions', 'offers', 'prune', 'prune_due', 'record_duty', 'report_clock_step', 'rescue',
        'rescue_found', 'rescue_harmless', 'rescue_workers', 'roll_up_counts', 'roll_up_history', 'unpark', 'sessionless', 'take_duty',
        'unpark_due', 'unseen_workers', 'watch', 'withdraw_undeclared', 'work_off_bulk_action', 'workers_beside'
    ];
    v_work constant text[] := array[
        'announce_problems', 'beat', 'claim', 'claim_these', 'deregister_worker', 'finish', 'finish_free', 'finish_here', 'is_work_left', 'issue_token', 'mark_idle', 'next_due', 'next_due_for',
        'register_worker', 'release', 'renew', 'report_info', 'requested_stacks', 'run_before_hook', 'run_procedure', 'serve', 'spawn', 'start',
        'tell_intakes', 'tell_process', 'traces_of', 'wake_others', 'write_logs'
    ];
    v_operate constant text[] := array[
        'act_on_tasks', 'add_person', 'cancel', 'change_view', 'close_session', 'command_worker', 'complete_by_token',
        'complete_chain', 'complete_task', 'concerns', 'create_api_key', 'create_own_api_key', 'delete_chains', 'delete_schedule', 'delete_task',
        'delete_tasks', 'delete_view', 'end_from_outside', 'enqueue_owned', 'fail_by_token', 'fail_task', 'hold_chain', 'issue_token',
        'keep_answer', 'mark_error_group', 'note_act', 'open_local_session', 'open_session', 'owned_tasks', 'pause_role', 'put_schedule', 'record_audit',
        'remove_person', 'request_stack', 'resume_role', 'retry', 'reveal_handler', 'revoke_api_key',
        'save_view', 'set_key_capacity', 'set_password', 'spawn',
        'start_bulk_action', 'stop_bulk_action', 'take_request', 'touch_api_key', 'touch_session', 'trigger', 'trigger_schedule', 'try_to_log_in',
        'unlock_person', 'welcome_browser'
    ];
    -- These change nothing either, though they are volatile, as the clock moves on.
    v_telling constant text[] := array['clock', 'status_of', 'late_committers'];
    -- These have no search path, so that statements and views can inline them, and name types with their schema only:
    -- a caller's own types cannot change them. No other function without a path is granted.
    v_inlined constant text[] := array['clock', 'is_active', 'shown_state', 'status_of', 'tasks_of_chain'];
    v_known constant text[] := array['schema_migrations', 'schema_files', 'roles', 'handlers'];
    v_readable constant text[] := array[
        'schema_migrations', 'schema_files', 'roles', 'handlers', 'lines', 'keys', 'key_patterns', 'tasks', 'finished_tasks',
        'task_events', 'finished_counts', 'counted_until', 'workers', 'idle_marks', 'server_epoch', 'schedules', 'schedule_runs',
        'needs', 'history', 'history_until', 'error_groups', 'error_hours', 'task_logs', 'retention', 'duties', 'bulk_actions', 'saved_views', 'all_tasks', 'all_workers', 'chains', 'procedures'
    ];
    v_lent constant text[] := v_enqueue || v_read || v_upkeep || v_work || v_operate;
    v_name text;
    v_may record;
    v_routine record;
begin
    foreach v_name in array v_all loop
        if not exists (select from pg_catalog.pg_roles where rolname = v_name) then
            begin
                execute format('create role %I nologin', v_name);
            exception when duplicate_object or unique_violation then
                null; -- another database of this server was quicker
            end;
        end if;
        execute format('revoke all on all tables in schema rolecall from %I', v_name);
        execute format('revoke all on all routines in schema rolecall from %I', v_name);
        execute format('grant usage on schema rolecall to %I', v_name);
    end loop;
    revoke all on all routines in schema rolecall from public;
    for v_may in
        select * from (values
            ('rolecall_enqueue', v_enqueue, v_known),
            ('rolecall_read', v_read, v_readable),
            ('rolecall_work', v_read || v_enqueue || v_upkeep || v_work, v_readable),
            ('rolecall_operate', v_read || v_enqueue || v_upkeep || v_operate, (
                select array_agg(relname::text) from pg_catalog.pg_class
                where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
            ))
        ) as may (name, routines, relations)
    loop
        for v_name in
            select oid::regclass from pg_catalog.pg_class
            where relnamespace = 'rolecall'::regnamespace and relname = any (v_may.relations)
        loop
            execute format('grant select on %s to %I', v_name, v_may.name);
        end loop;
        for v_routine in
            select oid::regprocedure as name, proname = any (v_may.routines) and not prosecdef as is_to_be_lent
            from pg_catalog.pg_proc
            -- Functions that change nothing are harmless for every login, and views and statements call them.
            where pronamespace = 'rolecall'::regnamespace and prorettype <> 'trigger'::regtype
                and ('search_path=pg_catalog, pg_temp' = any (proconfig) or proname = any (v_inlined))
                and (proname = any (v_may.routines) or proname <> all (v_lent) and (provolatile <> 'v' or proname = any (v_telling)))
        loop
            if v_routine.is_to_be_lent then
                execute format('alter routine %s security definer', v_routine.name);
            end if;
            execute format('grant execute on routine %s to %I', v_routine.name, v_may.name);
        end loop;
    end loop;
end
$roles$;
