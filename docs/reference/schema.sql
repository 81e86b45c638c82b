CREATE SCHEMA rolecall;
CREATE TYPE rolecall.floor AS (
	scheduled_for timestamp with time zone,
	id bigint,
	look_below_at timestamp with time zone
);
CREATE TYPE rolecall.task_state AS ENUM (
    'blocked',
    'pending',
    'running',
    'waiting',
    'completed',
    'failed',
    'cancelled'
);
CREATE FUNCTION rolecall.add_line(p_role text, p_handler text, p_priority integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_id int;
begin
    select min(id) into v_id
    from rolecall.lines
    where role = p_role and handler = p_handler and priority = p_priority;
    if v_id is null then
        insert into rolecall.lines (role, handler, priority)
        values (p_role, p_handler, p_priority)
        returning id into v_id;
    end if;
    return v_id;
end
$$;
CREATE FUNCTION rolecall.beat(p_worker_id bigint, p_held integer, p_idle boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    update rolecall.workers
    set heartbeat_at = rolecall.clock(), held = p_held, idle = p_idle
    where id = p_worker_id and stopped_at is null;
    return found;
end
$$;
CREATE FUNCTION rolecall.cancel(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_durability();
    -- One at a time: a row that changed while it was waited for stays locked, out of order to another cancel.
    perform pg_advisory_xact_lock(7246926, -1);
    loop
        begin
            return query select * from rolecall.try_to_cancel(p_ids);
            return;
        exception when sqlstate 'RC090' then
            -- All locks are gone again: the next turn takes what has come, and asks what was claimed to stop.
            null;
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.capacity() RETURNS TABLE(role text, pending_tasks bigint, ready_tasks bigint, running_tasks bigint, active_workers bigint, claimed_last_hour bigint, completed_last_hour bigint, failed_last_hour bigint, tasks_per_worker_hour double precision, estimated_hours_to_drain double precision)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    open as (
        select
            line.role,
            count(*) filter (where state = 'pending') as pending,
            count(*) filter (where state = 'pending' and not parked and scheduled_for <= moment.now) as ready,
            count(*) filter (where state = 'running') as running,
            count(*) filter (where claimed_at > moment.now - interval '1 hour') as claimed
        from rolecall.tasks
        join rolecall.lines as line on line.id = line_id
        cross join moment
        group by line.role
    ),
    ended as (
        select
            line.role,
            count(*) filter (where claimed_at > moment.now - interval '1 hour') as claimed,
            count(*) filter (where state = 'completed') as completed,
            count(*) filter (where state = 'failed') as failed,
            extract(epoch from sum(finished_at - started_at))::float8 / 3600 as hours_worked
        from rolecall.finished_tasks
        join rolecall.lines as line on line.id = line_id
        cross join moment
        where finished_at > moment.now - interval '1 hour'
        group by line.role
    ),
    active as (
        select role.name as role, count(*) as workers, sum(worker.slots) as slots
        from rolecall.roles as role
        join rolecall.workers as worker on worker.roles = '{}' or role.name = any(worker.roles)
        cross join moment
        where worker.stopped_at is null and worker.heartbeat_at > moment.now - interval '5 min'
        group by role.name
    ),
    figures as (
        select
            role.name, coalesce(open.pending, 0) as pending, coalesce(open.ready, 0) as ready,
            coalesce(open.running, 0) as running, coalesce(active.workers, 0) as workers,
            coalesce(open.claimed, 0) + coalesce(ended.claimed, 0) as claimed,
            coalesce(ended.completed, 0) as completed, coalesce(ended.failed, 0) as failed,
            (ended.completed + ended.failed) / nullif(ended.hours_worked, 0)
                * (coalesce(active.slots, 1)::float8 / coalesce(active.workers, 1)) as rate
        from rolecall.roles as role
        left join open on open.role = role.name
        left join ended on ended.role = role.name
        left join active on active.role = role.name
    )
    select
        name, pending, ready, running, workers, claimed, completed, failed, rate,
        pending / nullif(rate * workers, 0)
    from figures
    order by name
$$;
CREATE FUNCTION rolecall.check_declaration(p_said jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $_$
declare
    v_said jsonb;
begin
    for v_said in select * from jsonb_array_elements(p_said) loop
        if coalesce(v_said ->> 'name', '') !~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$' then
            perform rolecall.refuse('RC041', format('%s is not a name of a role or handler', coalesce(v_said ->> 'name', 'null')));
        elsif v_said -> 'retry' <> 'null' and not rolecall.is_retry_policy(v_said -> 'retry') then
            perform rolecall.refuse('RC041', format('%s: %s is not a retry policy', v_said ->> 'name', v_said -> 'retry'));
        elsif (v_said ->> 'lease')::float8 not between 0.1 and 86400 or (v_said ->> 'timeout')::float8 not between 0.001 and 4e9 then
            perform rolecall.refuse('RC041', format('%s: lease is 0.1 to 86400 s, timeout 0.001 to 4e9 s', v_said ->> 'name'));
        elsif (v_said ->> 'max_attempts')::int < 0 then
            perform rolecall.refuse('RC041', format('%s: max_attempts is positive, or 0 for unlimited', v_said ->> 'name'));
        elsif (v_said ->> 'max_payload_bytes')::int not between 1024 and 67108864 then
            perform rolecall.refuse('RC041', format('%s: max_payload_bytes is 1024 to 67108864', v_said ->> 'name'));
        elsif (v_said ->> 'keep_completed')::float8 not between 0 and 4e9 or (v_said ->> 'keep_failed')::float8 not between 0 and 4e9 then
            perform rolecall.refuse('RC041', format('%s: what is finished is kept 0 to 4e9 s', v_said ->> 'name'));
        end if;
    end loop;
end
$_$;
CREATE FUNCTION rolecall.check_outcomes(p_reports jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
declare
    v_odd record;
begin
    select * into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text)
    where outcome is null or outcome not in ('completed', 'failed', 'snoozed', 'cancelled')
    limit 1;
    if found then
        perform rolecall.refuse('RC042', format('the report on task %s has the unknown outcome %L', v_odd.id, v_odd.outcome));
    end if;
end
$$;
CREATE FUNCTION rolecall.check_schedule(p_schedule jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_name text := p_schedule ->> 'name';
    v_every float8 := (p_schedule ->> 'every')::float8;
begin
    if coalesce(length(v_name), 0) not between 1 and 100 then
        perform rolecall.refuse('RC021', 'a schedule has a name of 1 to 100 characters');
    elsif v_every is null or v_every not between 1 and 315360000 then
        perform rolecall.refuse('RC021', format('schedule %s: every is 1 to 315360000 seconds', v_name));
    elsif not isfinite((p_schedule ->> 'first_run_at')::timestamptz) then
        perform rolecall.refuse('RC021', format('schedule %s: first_run_at is a moment, not infinity', v_name));
    end if;
    -- What refuses a task refuses the schedule that would enqueue it.
    perform rolecall.read_drafts(jsonb_build_array(p_schedule - '{name,every,enabled,first_run_at}'::text[]), rolecall.clock());
end
$$;
CREATE FUNCTION rolecall.claim(p_worker_id bigint, p_roles text[], p_handlers text[], p_limit integer, p_start integer DEFAULT NULL::integer) RETURNS TABLE(id bigint, fence integer, attempt integer, max_attempts integer, role text, handler text, priority integer, payload jsonb, key text, chain_id bigint, chain_index integer, scheduled_for timestamp with time zone, created_at timestamp with time zone, lease_seconds double precision, timeout_seconds double precision)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_picked record;
begin
    perform rolecall.require_read_committed();
    select * into v_picked from rolecall.pick_tasks(p_roles, p_handlers, p_limit, v_now);
    if cardinality(v_picked.ids) = 0 then
        return;
    end if;
    return query
    with claimed as (
        update rolecall.tasks as task
        set state = 'running', parked = false, worker_id = p_worker_id, fence = task.fence + 1, attempt = task.attempt + 1,
            claimed_at = v_now, lease_until = v_now + setting.lease, deadline_at = v_now + setting.timeout,
            started_at = case when p_start is null or task.id = any(v_picked.ids[1:p_start]) then v_now end,
            key_slot = case when task.key is not null then v_picked.slots[array_position(v_picked.keyed, task.id)] end
        from rolecall.line_settings as setting
        where task.id = any(v_picked.ids) and setting.line_id = task.line_id
        returning task.*, setting.role, setting.handler, setting.priority, setting.lease, setting.timeout
    )
    select
        claimed.id, claimed.fence, claimed.attempt, claimed.max_attempts, claimed.role, claimed.handler,
        claimed.priority::int, claimed.payload, claimed.key, claimed.chain_id, claimed.chain_index,
        claimed.scheduled_for, claimed.created_at,
        extract(epoch from claimed.lease)::float8, extract(epoch from claimed.timeout)::float8
    from claimed
    order by claimed.priority desc, claimed.scheduled_for, claimed.id;
end
$$;
CREATE FUNCTION rolecall.claim_from_line(p_line_id integer, p_line_ids integer[], p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keyed bigint[], slots smallint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_began timestamptz := clock_timestamp();
    v_floor rolecall.floor := rolecall.line_floor(p_line_id);
    v_reached rolecall.floor;
begin
    if v_floor.look_below_at > v_began then
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_line_ids, v_floor, p_limit, p_taken, p_now) as walk;
    end if;
    if ids is null or (cardinality(ids) = 0 and v_floor.look_below_at < v_began + interval '1 s') then
        v_floor := rolecall.look_below(p_line_id, p_now);
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_line_ids, v_floor, p_limit, p_taken, p_now) as walk;
    end if;
    if v_reached.scheduled_for is not null then
        v_reached.look_below_at := v_floor.look_below_at;
        perform set_config('rolecall.floor_' || p_line_id, v_reached::text, false);
    end if;
    return next;
end
$$;
CREATE FUNCTION rolecall.clock() RETURNS timestamp with time zone
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select coalesce(nullif(current_setting('rolecall.fake_now', true), '')::timestamptz, clock_timestamp())
$$;
CREATE FUNCTION rolecall.complete_tasks(p_worker_id bigint, p_reports jsonb, p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keys text[], follow_ups jsonb, chain_ids bigint[], chain_indexes integer[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with report as materialized (
        select * from jsonb_to_recordset(p_reports) as given (
            id bigint, fence int, outcome text, result jsonb, ran float8, follow_ups jsonb
        )
        where outcome = 'completed'
        order by id
    ),
    done as (
        delete from rolecall.tasks as task
        using report
        -- The worker is compared in a form that no index serves: each row is to be found by its id.
        where task.id = report.id and task.fence = report.fence and (task.worker_id = p_worker_id) is true
        returning task.*, report.result, report.ran, report.follow_ups
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, result
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at,
            coalesce(greatest(p_now - make_interval(secs => ran), claimed_at), started_at), p_now, worker_id, line_id,
            fence, attempt, max_attempts, 'completed', key, dedupe_key, payload, retry, info, result
        from done
    ),
    follow_up as (
        select jsonb_agg(task order by id, n) as tasks, array_agg(chain_id order by id, n) as chain_ids,
            array_agg(chain_index + 1 order by id, n) as chain_indexes
        from done
        cross join lateral jsonb_array_elements(follow_ups) with ordinality as follow_up (task, n)
    )
    select moved.ids, moved.keys, follow_up.tasks, follow_up.chain_ids, follow_up.chain_indexes
    from follow_up
    cross join (
        select coalesce(array_agg(id), '{}') as ids, array_agg(distinct key) filter (where key is not null) as keys
        from done
    ) as moved;
end
$$;
CREATE FUNCTION rolecall.counts() RETURNS TABLE(role text, state text, number bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select line.role, counted.state::text, sum(counted.number)::bigint
    from (
        select line_id, state, count(*) as number from rolecall.tasks group by line_id, state
        union all
        select line_id, state, count(*) from rolecall.finished_tasks group by line_id, state
    ) as counted
    join rolecall.lines as line on line.id = counted.line_id
    group by line.role, counted.state
    order by line.role, counted.state
$$;
CREATE FUNCTION rolecall.declare(p_roles jsonb, p_handlers jsonb DEFAULT '[]'::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.check_declaration(p_roles || p_handlers);
    -- A role that only a handler names gets the defaults.
    insert into rolecall.roles (name)
    select distinct coalesce(said.role, said.name) as role from jsonb_to_recordset(p_handlers) as said (name text, role text)
    where not exists (select from rolecall.roles where roles.name = coalesce(said.role, said.name))
    order by role
    on conflict do nothing;
    perform rolecall.declare_role(said) from jsonb_array_elements(p_roles) as said order by said ->> 'name';
    perform rolecall.declare_handler(said) from jsonb_array_elements(p_handlers) as said order by said ->> 'name';
end
$$;
CREATE FUNCTION rolecall.declare_handler(p_said jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    insert into rolecall.handlers as handler (name, role, description, signature, lease, timeout, max_attempts, retry)
    select
        said.name, coalesce(said.role, said.name), coalesce(said.description, ''), nullif(said.signature, 'null'),
        make_interval(secs => said.lease), make_interval(secs => said.timeout), said.max_attempts, nullif(said.retry, 'null')
    from jsonb_to_record(p_said) as said (
        name text, role text, description text, signature jsonb, lease float8, timeout float8, max_attempts int, retry jsonb
    )
    where not exists (
        select from rolecall.handlers as known
        where (known.name, known.role, known.description, known.signature, known.lease, known.timeout,
            known.max_attempts, known.retry)
        is not distinct from (said.name, coalesce(said.role, said.name), coalesce(said.description, ''),
            nullif(said.signature, 'null'), make_interval(secs => said.lease), make_interval(secs => said.timeout),
            said.max_attempts, nullif(said.retry, 'null'))
    )
    on conflict (name) do update
    set role = excluded.role, description = excluded.description, signature = excluded.signature, lease = excluded.lease,
        timeout = excluded.timeout, max_attempts = excluded.max_attempts, retry = excluded.retry;
$$;
CREATE FUNCTION rolecall.declare_role(p_said jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    insert into rolecall.roles (name)
    select p_said ->> 'name'
    where not exists (select from rolecall.roles where name = p_said ->> 'name')
    on conflict do nothing;
    with said as (
        select
            role.name,
            coalesce(p_said ->> 'description', role.description) as description,
            coalesce(make_interval(secs => (p_said ->> 'lease')::float8), role.lease) as lease,
            coalesce(make_interval(secs => (p_said ->> 'timeout')::float8), role.timeout) as timeout,
            case when p_said ->> 'max_attempts' is null then role.max_attempts
                else nullif((p_said ->> 'max_attempts')::int, 0) end as max_attempts,
            coalesce(nullif(p_said -> 'retry', 'null'), role.retry) as retry,
            coalesce((p_said ->> 'max_payload_bytes')::int, role.max_payload_bytes) as max_payload_bytes,
            coalesce(make_interval(secs => (p_said ->> 'keep_completed')::float8), role.keep_completed) as keep_completed,
            coalesce(make_interval(secs => (p_said ->> 'keep_failed')::float8), role.keep_failed) as keep_failed
        from rolecall.roles as role
        where role.name = p_said ->> 'name'
    )
    update rolecall.roles as role
    set description = said.description, lease = said.lease, timeout = said.timeout, max_attempts = said.max_attempts,
        retry = said.retry, max_payload_bytes = said.max_payload_bytes,
        keep_completed = said.keep_completed, keep_failed = said.keep_failed
    from said
    where role.name = said.name
        and (role.description, role.lease, role.timeout, role.max_attempts, role.retry, role.max_payload_bytes,
            role.keep_completed, role.keep_failed)
        is distinct from (said.description, said.lease, said.timeout, said.max_attempts, said.retry, said.max_payload_bytes,
            said.keep_completed, said.keep_failed);
$$;
CREATE FUNCTION rolecall.delete_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_durability();
    delete from rolecall.schedules where name = p_name;
    return found;
end
$$;
CREATE FUNCTION rolecall.deregister_worker(p_worker_id bigint) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_losses jsonb;
begin
    perform rolecall.require_durability();
    update rolecall.workers
    set stopped_at = rolecall.clock(), idle = false, held = 0
    where id = p_worker_id and stopped_at is null;
    with held as (
        select id from rolecall.tasks where worker_id = p_worker_id and state = 'running' order by id for update
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', 'shutdown')) into v_losses from held;
    return (select count(*) from rolecall.let_go(v_losses));
end
$$;
CREATE FUNCTION rolecall.drop_partitions(p_before date) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_name text;
    v_dropped int := 0;
begin
    for v_name in
        select child.relname
        from pg_catalog.pg_inherits as link
        join pg_catalog.pg_class as child on child.oid = link.inhrelid
        where link.inhparent in ('rolecall.finished_tasks'::regclass, 'rolecall.task_events'::regclass)
            and child.relname ~ '_[0-9]{8}$'
            and to_date(right(child.relname, 8), 'YYYYMMDD') < p_before
        order by child.relname
    loop
        execute format('drop table rolecall.%I', v_name);
        v_dropped := v_dropped + 1;
    end loop;
    return v_dropped;
end
$_$;
CREATE FUNCTION rolecall.enqueue(p_role text, p_payload jsonb DEFAULT '{}'::jsonb, p_handler text DEFAULT NULL::text, p_priority integer DEFAULT 0, p_scheduled_for timestamp with time zone DEFAULT NULL::timestamp with time zone, p_key text DEFAULT NULL::text, p_dedupe_key text DEFAULT NULL::text, p_max_attempts integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select batch.ids[1]
    from rolecall.enqueue_many(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'role', p_role, 'handler', p_handler, 'priority', p_priority, 'scheduled_for', p_scheduled_for,
        'key', p_key, 'dedupe_key', p_dedupe_key, 'max_attempts', p_max_attempts
    )) || jsonb_build_object('payload', p_payload))) as batch
$$;
CREATE FUNCTION rolecall.enqueue_many(p_tasks jsonb) RETURNS TABLE(ids bigint[], deduplicated bigint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_durability();
    return query select * from rolecall.store_tasks(p_tasks, '{}', '{}');
end
$$;
CREATE FUNCTION rolecall.ensure_schedules(p_schedules jsonb) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_said jsonb;
    v_stored int := 0;
begin
    for v_said in
        select said from jsonb_array_elements(p_schedules) as said
        where not exists (select from rolecall.schedules where schedules.name = said ->> 'name')
        order by said ->> 'name'
    loop
        perform rolecall.put_schedule(v_said);
        v_stored := v_stored + 1;
    end loop;
    return v_stored;
end
$$;
CREATE FUNCTION rolecall.find_or_insert(p_task jsonb, p_chain_id bigint, p_chain_index integer) RETURNS TABLE(id bigint, stood boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_dedupe_key text := coalesce(p_task ->> 'handler', p_task ->> 'role') || '/' || (p_task ->> 'dedupe_key');
    v_inserted record;
begin
    -- Each turn of the loop is decided by another session's commit in between; it ends with the first quiet moment.
    loop
        select task.id, true into id, stood from rolecall.tasks as task where task.dedupe_key = v_dedupe_key;
        exit when found;
        select * into v_inserted from rolecall.insert_tasks(jsonb_build_array(p_task), array[p_chain_id], array[p_chain_index]);
        id := v_inserted.ids[1];
        stood := false;
        exit when v_inserted.refused is null;
    end loop;
    return next;
end
$$;
CREATE FUNCTION rolecall.finish(p_worker_id bigint, p_reports jsonb) RETURNS TABLE(task_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
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
$_$;
CREATE FUNCTION rolecall.fire_schedules(p_limit integer DEFAULT 100) RETURNS TABLE(schedule text, task_id bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_due rolecall.schedules;
begin
    perform rolecall.require_read_committed();
    for v_due in
        select * from rolecall.schedules as due
        where due.enabled and due.next_run_at <= v_now
        order by due.next_run_at, due.id
        limit p_limit
        for update skip locked
    loop
        perform rolecall.require_durability();
        schedule := v_due.name;
        task_id := rolecall.run_schedule(v_due, extract(epoch from v_due.next_run_at)::bigint::text);
        update rolecall.schedules as fired
        set next_run_at = v_due.next_run_at
            + ceil(extract(epoch from v_now - v_due.next_run_at + interval '1 microsecond')
                / extract(epoch from v_due.every)) * v_due.every
        where fired.id = v_due.id;
        return next;
    end loop;
end
$$;
CREATE FUNCTION rolecall.free_keys(p_keys text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_heads bigint[];
    v_roles text[];
begin
    if p_keys is null then
        return;
    end if;
    perform from rolecall.keys where key = any(p_keys) order by key for update;
    -- A statement of its own: it sees what was parked before the locks were had.
    with head as (
        select distinct on (wanted.key, line.role, line.handler) parked.id, line.role
        from unnest(p_keys) as wanted (key)
        cross join rolecall.lines as line
        cross join lateral (
            select task.id, task.scheduled_for
            from rolecall.tasks as task
            where task.key = wanted.key and task.line_id = line.id and task.state = 'pending' and task.parked
            order by task.scheduled_for, task.id
            limit 1
        ) as parked
        where exists (
            select from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending' and task.parked
        )
        order by wanted.key, line.role, line.handler, line.priority desc, parked.scheduled_for, parked.id
    )
    select array_agg(head.id order by head.id), array_agg(distinct head.role) into v_heads, v_roles from head;
    update rolecall.tasks set parked = false where id = any(v_heads) and state = 'pending';
    perform rolecall.wake(v_roles);
end
$$;
CREATE FUNCTION rolecall.insert_tasks(p_tasks jsonb, p_chain_ids bigint[], p_chain_indexes integer[]) RETURNS TABLE(ids bigint[], refused bigint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_roles text[];
begin
    with draft as materialized (
        select nextval('rolecall.tasks_id_seq') as id, read.*
        from (select * from rolecall.read_drafts(p_tasks, v_now) order by n) as read
    ),
    line as materialized (
        select min(id) as id, role, handler, priority::int
        from rolecall.lines
        group by role, handler, priority
    ),
    stored as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, max_attempts, key, dedupe_key, payload, retry
        )
        select
            draft.id, coalesce(p_chain_ids[draft.n], draft.id), coalesce(p_chain_indexes[draft.n], 0), v_now, greatest(draft.due, v_now),
            coalesce(line.id, rolecall.add_line(draft.role, draft.handler, draft.priority)),
            draft.max_attempts, draft.key, draft.dedupe_key, draft.payload, draft.retry
        from draft
        left join line using (role, handler, priority)
        order by draft.dedupe_key collate "C", draft.n
        on conflict (dedupe_key) where dedupe_key is not null do nothing
        returning tasks.id
    )
    select
        array_agg(draft.id order by draft.n),
        array_agg(draft.n order by draft.dedupe_key collate "C", draft.n) filter (where draft.dedupe_key is not null and stored.id is null),
        array_agg(distinct draft.role) filter (where draft.due <= v_now)
    into ids, refused, v_roles
    from draft
    left join stored on stored.id = draft.id;
    perform rolecall.wake(v_roles);
    return next;
end
$$;
CREATE FUNCTION rolecall.is_retry_policy(p_policy jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select jsonb_typeof(p_policy) = 'object'
        and coalesce(p_policy ->> 'kind' in ('none', 'linear', 'exponential'), false)
        and not exists (
            select
            from jsonb_each(p_policy - 'kind') as part
            where part.key not in ('first', 'factor', 'step', 'cap', 'jitter')
                or jsonb_typeof(part.value) <> 'number'
                or part.value::float8 not between 0 and case part.key when 'jitter' then 1 when 'factor' then 1000 else 31536000 end
        )
$$;
CREATE TABLE rolecall.tasks (
    id bigint NOT NULL,
    chain_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    lease_until timestamp with time zone,
    deadline_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    worker_id bigint,
    line_id integer NOT NULL,
    chain_index integer DEFAULT 0 NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    max_attempts integer,
    refunds smallint DEFAULT 0 NOT NULL,
    key_slot smallint,
    state rolecall.task_state DEFAULT 'pending'::rolecall.task_state NOT NULL,
    parked boolean DEFAULT false NOT NULL,
    key text COLLATE pg_catalog."C",
    dedupe_key text COLLATE pg_catalog."C",
    payload jsonb NOT NULL,
    retry jsonb,
    info jsonb,
    error text,
    CONSTRAINT a_claim_counts_an_attempt CHECK (((state <> 'running'::rolecall.task_state) OR ((attempt > 0) AND (fence > 0)))),
    CONSTRAINT attempts_stay_within_max_attempts CHECK (((attempt >= 0) AND ((max_attempts IS NULL) OR (attempt <= max_attempts)))),
    CONSTRAINT holds_a_slot_iff_keyed_and_active CHECK (((key_slot IS NOT NULL) = ((key IS NOT NULL) AND (state = ANY (ARRAY['running'::rolecall.task_state, 'waiting'::rolecall.task_state]))))),
    CONSTRAINT only_open_states_stand_here CHECK ((state = ANY (ARRAY['blocked'::rolecall.task_state, 'pending'::rolecall.task_state, 'running'::rolecall.task_state, 'waiting'::rolecall.task_state]))),
    CONSTRAINT only_pending_keyed_tasks_are_parked CHECK (((NOT parked) OR ((state = 'pending'::rolecall.task_state) AND (key IS NOT NULL)))),
    CONSTRAINT only_running_or_waiting_tasks_have_started CHECK (((started_at IS NULL) OR (state = ANY (ARRAY['running'::rolecall.task_state, 'waiting'::rolecall.task_state])))),
    CONSTRAINT only_running_tasks_await_their_cancellation CHECK (((cancel_requested_at IS NULL) OR (state = 'running'::rolecall.task_state))),
    CONSTRAINT payload_is_an_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT running_iff_owned_leased_and_bounded CHECK ((num_nonnulls(worker_id, claimed_at, lease_until, deadline_at) =
CASE
    WHEN (state = 'running'::rolecall.task_state) THEN 4
    ELSE 0
END))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');
CREATE FUNCTION rolecall.judge_loss(p_task rolecall.tasks, p_policy jsonb, p_reason text, p_after double precision, p_final boolean, p_now timestamp with time zone) RETURNS TABLE(spent boolean, next_state rolecall.task_state, due timestamp with time zone)
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    with charge as (
        select case p_reason
            when 'snoozed' then false
            when 'shutdown' then p_task.started_at is not null and p_task.refunds >= 10
            when 'crashed' then p_task.started_at is not null or p_task.refunds >= 10
            else true
        end as spent
    ),
    wait as (
        select spent, case
            when p_after is not null then make_interval(secs => least(greatest(p_after, 0), 4e9))
            when spent then rolecall.retry_delay(coalesce(p_task.retry, p_policy), p_task.attempt)
        end as delay
        from charge
    )
    select
        spent,
        case
            when p_reason = 'cancelled' then 'cancelled'
            when spent and (p_final or p_task.attempt >= p_task.max_attempts or delay is null) then 'failed'
            when p_task.cancel_requested_at is not null then 'cancelled'
            else 'pending'
        end::rolecall.task_state,
        coalesce(p_now + delay, p_task.scheduled_for)
    from wait
$$;
CREATE FUNCTION rolecall.let_go(p_losses jsonb) RETURNS TABLE(task_id bigint, state rolecall.task_state)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_keys text[];
    v_roles text[];
    v_ids bigint[];
    v_states rolecall.task_state[];
begin
    with loss as materialized (
        select task.id, task.attempt, task.worker_id, task.started_at, setting.role, given.reason, given.error, judged.*,
            task.fence + (given.reported is not true)::int as next_fence
        from jsonb_to_recordset(p_losses) as given (
            id bigint, reason text, error text, after float8, final boolean, reported boolean
        )
        join rolecall.tasks as task on task.id = given.id
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        cross join lateral rolecall.judge_loss(
            task, setting.retry, given.reason, given.after, coalesce(given.final, false), v_now
        ) as judged
    ),
    ended as (
        delete from rolecall.tasks as task using loss
        where task.id = loss.id and loss.next_state <> 'pending'
        returning task.*, loss.next_state, loss.next_fence, loss.error as last_error, loss.reason
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, error
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, v_now, worker_id, line_id,
            next_fence, attempt, max_attempts, next_state, key, dedupe_key, payload, retry, info,
            coalesce(last_error, error, case when next_state = 'failed' then reason end)
        from ended
        returning key
    ),
    back as (
        update rolecall.tasks as task
        set state = 'pending', scheduled_for = loss.due, fence = loss.next_fence, attempt = task.attempt - (not loss.spent)::int,
            refunds = task.refunds + (
                not loss.spent and (loss.reason = 'crashed' or (loss.reason = 'shutdown' and loss.started_at is not null))
            )::int,
            worker_id = null, claimed_at = null, started_at = null, lease_until = null, deadline_at = null,
            cancel_requested_at = null, key_slot = null, error = coalesce(loss.error, task.error)
        from loss
        where task.id = loss.id and loss.next_state = 'pending'
        returning task.key
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt, worker_id, detail)
        select id, v_now, reason, attempt, worker_id, error from loss order by id
    )
    select
        array_agg(loss.id), array_agg(loss.next_state),
        (select array_agg(distinct key) from (select key from moved union all select key from back) as held where key is not null),
        array_agg(distinct loss.role) filter (where loss.next_state = 'pending' and loss.due <= v_now)
    into v_ids, v_states, v_keys, v_roles
    from loss;
    perform rolecall.free_keys(v_keys);
    perform rolecall.wake(v_roles);
    return query select * from unnest(v_ids, v_states);
end
$$;
CREATE FUNCTION rolecall.line_floor(p_line_id integer) RETURNS rolecall.floor
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select nullif(current_setting('rolecall.floor_' || p_line_id, true), '')::rolecall.floor
$$;
CREATE FUNCTION rolecall.lock_claims(p_worker_id bigint, p_reports jsonb) RETURNS text[]
    LANGUAGE sql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
    with owned as materialized (
        select task.key
        from (select * from jsonb_to_recordset(p_reports) as given (id bigint, fence int) order by given.id) as report
        cross join lateral (
            select owned.key
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select array_agg(distinct key) filter (where key is not null) from owned
$$;
CREATE FUNCTION rolecall.look_below(p_line_id integer, p_now timestamp with time zone) RETURNS rolecall.floor
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    v_began timestamptz := clock_timestamp();
    v_floor rolecall.floor := (p_now, 0, null);
    v_first record;
begin
    select task.scheduled_for, task.id into v_first
    from rolecall.tasks as task
    where task.line_id = p_line_id and task.state = 'pending' and not task.parked and task.scheduled_for <= p_now
    order by task.scheduled_for, task.id
    limit 1;
    if found then
        v_floor := (v_first.scheduled_for, v_first.id - 1, null);
    end if;
    v_floor.look_below_at := clock_timestamp() + greatest('50 ms', 19 * (clock_timestamp() - v_began));
    perform set_config('rolecall.floor_' || p_line_id, v_floor::text, false);
    return v_floor;
end
$$;
CREATE FUNCTION rolecall.lose_tasks(p_worker_id bigint, p_reports jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_losses jsonb;
begin
    with owned as (
        select report.*
        from (
            select distinct on (given.id) * from jsonb_to_recordset(p_reports) as given (
                id bigint, fence int, outcome text, reason text, error text, after float8, final boolean
            )
            where given.outcome <> 'completed'
            order by given.id
        ) as report
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select jsonb_agg(jsonb_build_object(
        'id', id, 'error', error, 'after', after, 'final', final, 'reported', true,
        'reason', case outcome when 'failed' then coalesce(reason, 'error') else outcome end
    ))
    into v_losses
    from owned;
    return array(select task_id from rolecall.let_go(v_losses));
end
$$;
CREATE FUNCTION rolecall.lost_claims(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE sql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
    select lost.id, case lost.reason when 'already' then 'completed' else lost.reason end
    from (
        select claim.id, rolecall.why_lost(p_worker_id, claim.id, claim.fence) as reason
        from unnest(p_ids, p_fences) as claim (id, fence)
        where not exists (
            select from rolecall.tasks as task
            where task.id = claim.id and task.fence = claim.fence and (task.worker_id = p_worker_id) is true
            offset 0
        )
    ) as lost
    where lost.reason <> 'owned'
$$;
CREATE FUNCTION rolecall.make_partition(p_table text, p_column text, p_day date) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_name text := format('%s_%s', p_table, to_char(p_day, 'YYYYMMDD'));
    v_from timestamptz := p_day::timestamp at time zone 'utc';
    v_to timestamptz := (p_day + 1)::timestamp at time zone 'utc';
    v_taken boolean;
begin
    if to_regclass('rolecall.' || v_name) is not null then
        return 0;
    end if;
    execute format('select exists (select from rolecall.%I where %I >= $1 and %I < $2)', p_table || '_default', p_column, p_column)
    into v_taken using v_from, v_to;
    if v_taken then
        return 0;
    end if;
    execute format('create table rolecall.%I partition of rolecall.%I for values from (%L) to (%L)', v_name, p_table, v_from, v_to);
    return 1;
end
$_$;
CREATE FUNCTION rolecall.make_partitions(p_days_ahead integer DEFAULT 7) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_today date := (rolecall.clock() at time zone 'utc')::date;
    v_made int := 0;
begin
    -- One maker at a time: two would both find a partition missing.
    perform pg_advisory_xact_lock(hashtext('rolecall.make_partitions'));
    for v_ahead in 0..p_days_ahead loop
        v_made := v_made
            + rolecall.make_partition('finished_tasks', 'finished_at', v_today + v_ahead)
            + rolecall.make_partition('task_events', 'at', v_today + v_ahead);
    end loop;
    return v_made;
end
$$;
CREATE FUNCTION rolecall.mark_idle(p_worker_id bigint, p_idle boolean) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    update rolecall.workers
    set idle = p_idle
    where id = p_worker_id and stopped_at is null and idle <> p_idle
$$;
CREATE FUNCTION rolecall.next_due(p_roles text[], p_handlers text[]) RETURNS double precision
    LANGUAGE sql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
    select greatest(extract(epoch from min(head.scheduled_for) - rolecall.clock()), case when count(*) > 0 then 0 end)::float8
    from rolecall.line_settings as setting
    cross join lateral rolecall.line_floor(setting.line_id) as floor
    cross join lateral (
        select task.scheduled_for
        from rolecall.tasks as task
        where task.line_id = setting.line_id and task.state = 'pending' and not task.parked
            and task.scheduled_for >= case
                when floor.look_below_at > clock_timestamp() + interval '1 s' then floor.scheduled_for
                else '-infinity'
            end
        order by task.scheduled_for
        limit 1
    ) as head
    where (p_roles = '{}' or setting.role = any(p_roles)) and setting.handler = any(p_handlers) and not setting.paused
$$;
CREATE FUNCTION rolecall.park_losers(p_keys text[], p_winners bigint[]) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    -- Bounds the time of one claim: 5,000 rows take about a twentieth of a second.
    v_bound constant int := 5000;
    v_now timestamptz := rolecall.clock();
    v_locked text[];
    v_full text[];
    v_parked int;
begin
    v_locked := array(select key from rolecall.keys where key = any(p_keys) for update skip locked);
    v_full := array(
        select lock.key from rolecall.keys as lock
        where lock.key = any(v_locked)
            and lock.capacity <= (
                select count(*) from rolecall.tasks as holder
                where holder.key = lock.key and (holder.key_slot is not null or holder.id = any(p_winners))
            )
    );
    update rolecall.tasks as loser
    set parked = true
    where loser.id = any(array(
        select task.id from rolecall.tasks as task
        where task.key = any(v_full) and task.state = 'pending' and task.parked is not true
            and task.scheduled_for <= v_now and task.id <> all(p_winners)
        limit v_bound
        for update skip locked
    ));
    get diagnostics v_parked = row_count;
    return v_parked < v_bound and cardinality(v_locked) = cardinality(p_keys);
end
$$;
CREATE FUNCTION rolecall.pick_from_level(p_level integer[], p_line_ids integer[], p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keyed bigint[], slots smallint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_left int[] := p_level;
    v_taken bigint[] := p_taken;
    v_shared boolean := true;
    v_share record;
    v_got record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    perform rolecall.look_below(line, p_now) from unnest(p_level) as line
    where (rolecall.line_floor(line)).look_below_at > clock_timestamp() is not true;
    while v_shared and cardinality(ids) < p_limit loop
        v_shared := false;
        for v_share in
            select * from rolecall.share_out(v_left, p_limit - cardinality(ids), v_taken, p_now)
            union all
            -- Where nobody has a share, a line may still have something below the floor of this session.
            select line, null from unnest(v_left) as line
        loop
            exit when cardinality(ids) >= p_limit or (v_share.number is null and cardinality(ids) > 0);
            exit when v_share.number is null and v_shared;
            select * into v_got from rolecall.claim_from_line(
                v_share.line_id, p_line_ids, least(v_share.number, p_limit - cardinality(ids)), v_taken, p_now
            );
            v_shared := v_share.number is not null;
            if cardinality(v_got.ids) < v_share.number then
                v_left := array_remove(v_left, v_share.line_id);
            end if;
            ids := ids || v_got.ids;
            keyed := keyed || v_got.keyed;
            slots := slots || v_got.slots;
            -- Only a winner of a key can stand in another line than the one that was walked.
            v_taken := v_taken || v_got.keyed;
        end loop;
        v_taken := p_taken || ids;
    end loop;
    return next;
end
$$;
CREATE FUNCTION rolecall.pick_tasks(p_roles text[], p_handlers text[], p_limit integer, p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keyed bigint[], slots smallint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_all int[] := array(
        select setting.line_id from rolecall.line_settings as setting
        where (p_roles = '{}' or setting.role = any(p_roles)) and setting.handler = any(p_handlers) and not setting.paused
    );
    v_level record;
    v_got record;
    v_in_order boolean := true;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    for v_level in
        select array_agg(line.id) as lines from rolecall.lines as line
        where line.id = any(v_all) group by line.priority order by line.priority desc
    loop
        if cardinality(v_level.lines) = 1 then
            select * into v_got from rolecall.claim_from_line(
                v_level.lines[1], v_all, p_limit - cardinality(ids), keyed, p_now
            );
        else
            select * into v_got from rolecall.pick_from_level(v_level.lines, v_all, p_limit - cardinality(ids), keyed, p_now);
            v_in_order := false;
        end if;
        ids := ids || v_got.ids;
        keyed := keyed || v_got.keyed;
        slots := slots || v_got.slots;
        exit when cardinality(ids) >= p_limit;
    end loop;
    if cardinality(ids) > 1 and (cardinality(keyed) > 0 or not v_in_order) then
        ids := array(
            select task.id from rolecall.tasks as task
            join rolecall.lines as line on line.id = task.line_id
            where task.id = any(ids)
            order by line.priority desc, task.scheduled_for, task.id
        );
    end if;
    return next;
end
$$;
CREATE FUNCTION rolecall.prune() RETURNS TABLE(what text, number bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    -- Bounds one call's work and WAL; the next call goes on.
    v_bound constant int := 5000;
    v_now timestamptz := rolecall.clock();
    v_oldest timestamptz := v_now - coalesce(
        (select max(greatest(keep_completed, keep_failed)) from rolecall.roles), interval '30 days'
    );
    -- Whatever finished after this is wanted by every role: without this bound, each call would read the whole history.
    v_youngest timestamptz := v_now - (select min(least(keep_completed, keep_failed)) from rolecall.roles);
begin
    return query select 'partitions', rolecall.drop_partitions((v_oldest at time zone 'utc')::date)::bigint;
    delete from rolecall.finished_tasks as finished
    where finished.finished_at < v_youngest and (finished.id, finished.finished_at) in (
        select old.id, old.finished_at
        from rolecall.finished_tasks as old
        join rolecall.lines as line on line.id = old.line_id
        join rolecall.roles as role on role.name = line.role
        where old.finished_at < v_youngest
            and old.finished_at < v_now - case old.state when 'completed' then role.keep_completed else role.keep_failed end
        limit v_bound
    );
    get diagnostics number = row_count;
    what := 'finished_tasks';
    return next;
    -- Only the net is read row by row: events of days with a partition go with it.
    delete from rolecall.task_events_default
    where ctid = any(array(select old.ctid from rolecall.task_events_default as old where old.at < v_oldest limit v_bound));
    get diagnostics number = row_count;
    what := 'task_events';
    return next;
    delete from rolecall.keys
    where key = any(array(
        select idle.key from rolecall.keys as idle
        where idle.capacity = 1 and not exists (select from rolecall.tasks where tasks.key = idle.key)
        limit v_bound
        for update skip locked
    ));
    get diagnostics number = row_count;
    what := 'keys';
    return next;
    delete from rolecall.workers where coalesce(stopped_at, heartbeat_at) < v_now - interval '1 day';
    get diagnostics number = row_count;
    what := 'workers';
    return next;
end
$$;
CREATE FUNCTION rolecall.put_schedule(p_schedule jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_id bigint;
begin
    perform rolecall.require_durability();
    perform rolecall.check_schedule(p_schedule);
    with said as (
        select given.*, coalesce(given.role, handler.role, given.handler) as lane
        from jsonb_to_record(p_schedule) as given (
            name text, role text, handler text, payload jsonb, priority int, key text, every float8, enabled boolean,
            first_run_at timestamptz
        )
        left join rolecall.handlers as handler on handler.name = coalesce(given.handler, given.role)
    )
    insert into rolecall.schedules as old (
        name, role, handler, payload, priority, key, every, enabled, next_run_at, created_at
    )
    select
        name, lane, coalesce(handler, role), coalesce(payload, '{}'), coalesce(priority, 0), key,
        make_interval(secs => every), coalesce(enabled, true), coalesce(first_run_at, v_now), v_now
    from said
    on conflict (name) do update
    set role = excluded.role, handler = excluded.handler, payload = coalesce(nullif(p_schedule -> 'payload', 'null'), old.payload),
        priority = coalesce((p_schedule ->> 'priority')::int, old.priority), key = coalesce(p_schedule ->> 'key', old.key),
        every = excluded.every, enabled = coalesce((p_schedule ->> 'enabled')::boolean, old.enabled),
        next_run_at = case
            when p_schedule ->> 'first_run_at' is not null then excluded.next_run_at
            when old.every <> excluded.every then coalesce(old.last_run_at, v_now) + excluded.every
            else old.next_run_at
        end
    returning old.id into v_id;
    return v_id;
end
$$;
CREATE FUNCTION rolecall.read_drafts(p_tasks jsonb, p_now timestamp with time zone) RETURNS TABLE(n bigint, role text, handler text, priority integer, due timestamp with time zone, key text, dedupe_key text, max_attempts integer, payload jsonb, retry jsonb)
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select
        item.n, named.role, named.handler, coalesce(item.priority, 0), named.due,
        item.key, named.handler || '/' || item.dedupe_key,
        nullif(coalesce(item.max_attempts, handler.max_attempts, role.max_attempts, 0), 0),
        coalesce(item.payload, '{}'), item.retry
    from rows from (jsonb_to_recordset(p_tasks) as (
        role text, handler text, payload jsonb, priority int, scheduled_for timestamptz, after float8,
        key text, dedupe_key text, max_attempts int, retry jsonb
    )) with ordinality as item (
        role, handler, payload, priority, scheduled_for, after, key, dedupe_key, max_attempts, retry, n
    )
    left join rolecall.handlers as handler on handler.name = coalesce(item.handler, item.role)
    cross join lateral (
        select
            coalesce(item.role, handler.role, item.handler) as role,
            coalesce(item.handler, item.role) as handler,
            coalesce(
                item.scheduled_for,
                p_now + make_interval(secs => least(greatest(item.after, 0), 4e9)),
                p_now
            ) as due
    ) as named
    left join rolecall.roles as role on role.name = named.role
    cross join lateral (
        select rolecall.task_problem(
            item.payload, role.max_payload_bytes, item.priority, named.due, p_now,
            item.key, item.dedupe_key, item.max_attempts, item.retry
        ) as text
    ) as problem
    where case
        when role.name is null then rolecall.refuse('RC031', format(
            'task %s: unknown role %s', item.n - 1, coalesce(quote_literal(named.role), '(neither role nor handler given)')
        ))
        when problem.text is not null then rolecall.refuse('RC040', format('task %s: %s', item.n - 1, problem.text))
        else true
    end
$$;
CREATE FUNCTION rolecall.refuse(p_code text, p_message text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    raise exception using errcode = p_code, message = p_message;
end
$$;
CREATE FUNCTION rolecall.register_worker(p_name text, p_roles text[], p_handlers text[], p_slots integer, p_host text, p_pid integer, p_version text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.require_durability();
    select rolecall.server_up_since();
    insert into rolecall.workers (name, roles, handlers, slots, host, pid, version, started_at, heartbeat_at)
    select p_name, p_roles, p_handlers, p_slots, p_host, p_pid, p_version, clock, clock
    from rolecall.clock() as clock
    returning id
$$;
CREATE FUNCTION rolecall.release(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_losses jsonb;
begin
    perform rolecall.require_durability();
    return query select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences);
    with owned as (
        select task.id
        from (select * from unnest(p_ids, p_fences) as given (id, fence) order by given.id) as claim
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', 'shutdown')) into v_losses from owned;
    perform rolecall.let_go(v_losses);
end
$$;
CREATE FUNCTION rolecall.renew(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
begin
    with held as materialized (
        select task.id, setting.lease
        from unnest(p_ids, p_fences) as claim (id, fence)
        cross join lateral (
            select owned.id, owned.line_id
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
                and owned.deadline_at > v_now and owned.cancel_requested_at is null
            for no key update skip locked
        ) as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
    )
    update rolecall.tasks as task
    set lease_until = least(v_now + held.lease, task.deadline_at)
    from held
    where task.id = held.id;
    return query
    select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences)
    union all
    select task.id, case when task.cancel_requested_at is not null then 'cancelled' else 'timeout' end
    from unnest(p_ids, p_fences) as claim (id, fence)
    cross join lateral (
        select owned.id, owned.cancel_requested_at
        from rolecall.tasks as owned
        where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
            and (owned.deadline_at <= v_now or owned.cancel_requested_at is not null)
        offset 0
    ) as task;
end
$$;
CREATE FUNCTION rolecall.report_info(p_worker_id bigint, p_id bigint, p_fence integer, p_info jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if jsonb_typeof(p_info) is distinct from 'object' then
        perform rolecall.refuse('RC040', 'info is an object');
    end if;
    update rolecall.tasks as task
    set info = coalesce(task.info, '{}') || p_info
    where task.id = p_id and task.fence = p_fence and task.worker_id = p_worker_id and task.state = 'running';
    return case when not found then (select lost.reason from rolecall.lost_claims(p_worker_id, array[p_id], array[p_fence]) as lost) end;
end
$$;
CREATE FUNCTION rolecall.request_cancellation(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_asked bigint[];
begin
    with asked as (
        update rolecall.tasks as task
        set cancel_requested_at = coalesce(task.cancel_requested_at, rolecall.clock())
        where task.id = any(p_ids) and task.state = 'running'
        returning task.id, task.worker_id
    ),
    told as (
        select pg_notify('rolecall_cancel', worker_id::text) from asked group by worker_id
    )
    select array_agg(asked.id) into v_asked from asked, (select count(*) from told) as every;
    return coalesce(v_asked, '{}');
end
$$;
CREATE FUNCTION rolecall.require_durability() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end
$$;
CREATE FUNCTION rolecall.require_read_committed() RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform rolecall.refuse('RC050', format(
            'this call needs isolation level read committed, the transaction has %s',
            current_setting('transaction_isolation')
        ));
    end if;
end
$$;
CREATE FUNCTION rolecall.rescue(p_limit integer DEFAULT 1000) RETURNS TABLE(task_id bigint, state rolecall.task_state)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_losses jsonb;
begin
    with expired as (
        select task.id, case
            when task.cancel_requested_at is not null then 'cancelled'
            when task.deadline_at <= v_now then 'timeout'
            else 'crashed'
        end as reason
        from rolecall.tasks as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        where task.state = 'running' and task.lease_until < v_now and v_up_since + setting.lease < v_now
        order by task.id
        limit p_limit
        for update of task skip locked
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', reason, 'error', case reason
        when 'crashed' then 'the lease ran out: its worker crashed, hung or lost the database'
        when 'timeout' then 'the deadline passed'
    end)) into v_losses from expired;
    if v_losses is null then
        return;
    end if;
    perform rolecall.require_durability();
    return query select * from rolecall.let_go(v_losses);
end
$$;
CREATE FUNCTION rolecall.retry(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_back bigint[];
    v_roles text[];
begin
    perform rolecall.require_durability();
    perform from rolecall.finished_tasks
    where id = any(p_ids) and state in ('failed', 'cancelled')
    order by id
    for update;
    with back as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, fence, max_attempts,
            key, dedupe_key, payload, retry, info, error
        )
        select
            id, chain_id, chain_index, created_at, v_now, line_id, fence, max_attempts,
            key, dedupe_key, payload, retry, info, error
        from rolecall.finished_tasks
        where id = any(p_ids) and state in ('failed', 'cancelled')
        order by dedupe_key, id
        on conflict do nothing
        returning tasks.id, tasks.line_id
    ),
    gone as (
        delete from rolecall.finished_tasks where id in (select id from back)
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select id, v_now, 'retried', 0 from back
    )
    select array_agg(back.id), array_agg(distinct line.role)
    into v_back, v_roles
    from back
    join rolecall.lines as line on line.id = back.line_id;
    perform rolecall.wake(v_roles);
    return query
    select given.id, coalesce(
        case when given.id = any(v_back) then 'pending' end,
        (select 'open' from rolecall.tasks as task where task.id = given.id),
        (
            select case finished.state when 'completed' then 'completed' else 'duplicate' end
            from rolecall.finished_tasks as finished
            where finished.id = given.id
            limit 1
        ),
        'missing'
    )
    from unnest(p_ids) as given (id);
end
$$;
CREATE FUNCTION rolecall.retry_delay(p_policy jsonb, p_attempt integer) RETURNS interval
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select make_interval(secs => least(coalesce((p_policy ->> 'cap')::float8, 300), base)
        * (1 + coalesce((p_policy ->> 'jitter')::float8, 0) * (2 * random() - 1)))
    from (
        select case p_policy ->> 'kind'
            when 'linear' then coalesce((p_policy ->> 'step')::float8, 5) * p_attempt
            when 'exponential' then coalesce((p_policy ->> 'first')::float8, 10)
                * power(coalesce((p_policy ->> 'factor')::float8, 2), least(p_attempt - 1, 60))
        end as base
    ) as delay
    where base is not null
$$;
CREATE TABLE rolecall.schedules (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    handler text NOT NULL COLLATE pg_catalog."C",
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    key text COLLATE pg_catalog."C",
    every interval NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    next_run_at timestamp with time zone NOT NULL,
    last_run_at timestamp with time zone,
    last_task_id bigint,
    last_task_count integer,
    last_error text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT every_is_between_a_second_and_ten_years CHECK (((every >= '00:00:01'::interval) AND (every <= '10 years'::interval))),
    CONSTRAINT name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT payload_is_an_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100)))
);
CREATE FUNCTION rolecall.run_schedule(p_schedule rolecall.schedules, p_slot text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_task_id bigint;
    v_error text;
begin
    -- A subtransaction for one schedule: another's bad task must not keep it from running.
    begin
        select stored.ids[1] into v_task_id
        from rolecall.store_tasks(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
            'role', p_schedule.role, 'handler', p_schedule.handler, 'priority', p_schedule.priority, 'key', p_schedule.key,
            'dedupe_key', format('schedule:%s:%s', p_schedule.id, p_slot)
        )) || jsonb_build_object('payload', p_schedule.payload)), '{}', '{}') as stored;
    exception when others then
        v_error := sqlerrm;
    end;
    update rolecall.schedules
    set last_run_at = rolecall.clock(), last_error = v_error, last_task_id = coalesce(v_task_id, last_task_id),
        last_task_count = (v_task_id is not null)::int
    where id = p_schedule.id;
    return v_task_id;
end
$$;
CREATE FUNCTION rolecall.server_up_since() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_timeline text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    v_seen_at timestamptz;
begin
    select epoch.seen_at into v_seen_at
    from rolecall.server_epoch as epoch
    where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.timeline = v_timeline
        and epoch.seen_at <= rolecall.clock();
    if v_seen_at is null then
        insert into rolecall.server_epoch as epoch (postmaster_started_at, timeline, seen_at)
        values (pg_postmaster_start_time(), v_timeline, rolecall.clock())
        on conflict (only_row) do update
        set postmaster_started_at = excluded.postmaster_started_at, timeline = excluded.timeline, seen_at = excluded.seen_at
        returning epoch.seen_at into v_seen_at;
    end if;
    return v_seen_at;
end
$$;
CREATE FUNCTION rolecall.settle_keys(p_free bigint[], p_keys text[], p_line_ids integer[], p_limit integer, p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keyed bigint[], slots smallint[], whole boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
declare
    v_offered int;
begin
    with candidate as materialized (
        select won.id, won.slot from rolecall.win_keys(p_keys, p_line_ids, p_now) as won
        union all
        select free.id, null from unnest(p_free) as free (id)
    ),
    picked as materialized (
        select candidate.id, candidate.slot
        from candidate
        join rolecall.tasks as task using (id)
        join rolecall.lines as line on line.id = task.line_id
        order by line.priority desc, task.scheduled_for, task.id
        limit p_limit
    )
    select
        (select count(*) from candidate), coalesce(array_agg(picked.id), '{}'),
        coalesce(array_agg(picked.id) filter (where picked.slot is not null), '{}'),
        coalesce(array_agg(picked.slot) filter (where picked.slot is not null), '{}')
    into v_offered, ids, keyed, slots
    from picked;
    whole := rolecall.park_losers(p_keys, keyed) and v_offered <= p_limit;
    return next;
end
$$;
CREATE FUNCTION rolecall.share_out(p_line_ids integer[], p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(line_id integer, number integer)
    LANGUAGE sql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
    select next.line_id, count(*)::int
    from (
        select line.id as line_id
        from unnest(p_line_ids) as line (id)
        cross join lateral rolecall.line_floor(line.id) as floor
        cross join lateral (
            select task.scheduled_for, task.id
            from rolecall.tasks as task
            where task.line_id = line.id and task.state = 'pending' and not task.parked and task.scheduled_for <= p_now
                and (task.scheduled_for, task.id) > (floor.scheduled_for, floor.id) and task.id <> all(p_taken)
            order by task.scheduled_for, task.id
            limit p_limit
        ) as task
        order by task.scheduled_for, task.id
        limit p_limit
    ) as next
    group by next.line_id
$$;
CREATE FUNCTION rolecall.start(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
begin
    update rolecall.tasks as task
    set started_at = rolecall.clock()
    where task.id = any(array(
        select held.id
        from unnest(p_ids, p_fences) as claim (id, fence)
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
                and owned.started_at is null
            for no key update skip locked
        ) as held
    ));
    return query select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences);
end
$$;
CREATE FUNCTION rolecall.store_tasks(p_tasks jsonb, p_chain_ids bigint[], p_chain_indexes integer[]) RETURNS TABLE(ids bigint[], deduplicated bigint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_refused bigint[];
    v_n bigint;
    v_twin record;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    select coalesce(inserted.ids, '{}'), inserted.refused
    into ids, v_refused
    from rolecall.insert_tasks(p_tasks, p_chain_ids, p_chain_indexes) as inserted;
    deduplicated := '{}';
    foreach v_n in array coalesce(v_refused, '{}') loop
        select * into v_twin from rolecall.find_or_insert(
            p_tasks -> (v_n - 1)::int, p_chain_ids[v_n], p_chain_indexes[v_n]
        );
        ids[v_n] := v_twin.id;
        if v_twin.stood then
            deduplicated := deduplicated || v_twin.id;
        end if;
    end loop;
    return next;
end
$$;
CREATE FUNCTION rolecall.task_problem(p_payload jsonb, p_max_payload_bytes integer, p_priority integer, p_due timestamp with time zone, p_now timestamp with time zone, p_key text, p_dedupe_key text, p_max_attempts integer, p_retry jsonb) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    select case
        when jsonb_typeof(p_payload) <> 'object'
            then format('the payload is not an object but %s', jsonb_typeof(p_payload))
        when pg_column_size(p_payload) > p_max_payload_bytes / 64 and octet_length(p_payload::text) > p_max_payload_bytes
            then format('the payload has %s bytes, the role allows %s', octet_length(p_payload::text), p_max_payload_bytes)
        when p_priority not between -100 and 100
            then format('priority %s is not between -100 and 100', p_priority)
        when p_due > p_now + interval '100 years' or p_due = '-infinity'
            then format('scheduled_for %s is not within the next hundred years', p_due)
        when length(p_key) not between 1 and 200
            then format('the key has %s characters, allowed are 1 to 200', length(p_key))
        when length(p_dedupe_key) not between 1 and 200
            then format('the dedupe_key has %s characters, allowed are 1 to 200', length(p_dedupe_key))
        when p_max_attempts < 0
            then format('max_attempts is %s; 0 stands for unlimited', p_max_attempts)
        when p_retry is not null and not rolecall.is_retry_policy(p_retry)
            then format('%s is not a retry policy', p_retry)
    end
$$;
CREATE FUNCTION rolecall.timeline(p_id bigint) RETURNS TABLE(at timestamp with time zone, kind text, attempt integer, worker_id bigint, detail text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with task as (
        select * from rolecall.all_tasks where id = p_id
    )
    select moment.at, moment.kind, moment.attempt, moment.worker_id, moment.detail
    from (
        select created_at as at, 1 as turn, 'created' as kind, null::int as attempt, null::bigint as worker_id, null as detail
        from task
        union all
        select claimed_at, 2, 'claimed', attempt, worker_id, null from task
        union all
        select started_at, 3, 'started', attempt, worker_id, null from task
        union all
        select at, 4, kind, attempt, worker_id, detail from rolecall.task_events where task_id = p_id
        union all
        select finished_at, 5, state::text, attempt, worker_id, error from task
    ) as moment
    where moment.at is not null
    order by moment.at, moment.turn
$$;
CREATE FUNCTION rolecall.trigger_schedule(p_name text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_schedule rolecall.schedules;
    v_task_id bigint;
begin
    perform rolecall.require_durability();
    select * into v_schedule from rolecall.schedules where name = p_name for update;
    if not found then
        perform rolecall.refuse('RC020', format('there is no schedule %L', p_name));
    end if;
    v_task_id := rolecall.run_schedule(v_schedule, 'now');
    if v_task_id is null then
        perform rolecall.refuse('RC021', format('schedule %s: %s', p_name, (
            select last_error from rolecall.schedules where name = p_name
        )));
    end if;
    return v_task_id;
end
$$;
CREATE FUNCTION rolecall.try_to_cancel(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_held bigint[];
    v_asked bigint[];
    v_keys text[];
    v_losses jsonb;
    v_ended bigint[];
begin
    v_held := array(
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids)
            and (task.state = 'running' or not exists (select from rolecall.keys as known where known.key = task.key))
        order by task.id
        for update
    );
    v_asked := rolecall.request_cancellation(v_held);
    -- Whoever frees a key brings a parked row back under the key's lock, and must not find that row locked.
    v_keys := array(
        select lock.key from rolecall.keys as lock
        where lock.key = any(array(
            select task.key from rolecall.tasks as task
            where task.id = any(p_ids) and task.state <> 'running' and task.key is not null
        ))
        order by lock.key
        for update
    );
    with standing as (
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids) and task.state <> 'running' and (task.id = any(v_held) or task.key = any(v_keys))
        order by task.id
        for update
    )
    select jsonb_agg(jsonb_build_object('id', standing.id, 'reason', 'cancelled')) into v_losses from standing;
    v_ended := array(select gone.task_id from rolecall.let_go(v_losses) as gone);
    if exists (select from rolecall.tasks where id = any(p_ids) and id <> all(v_asked)) then
        perform rolecall.refuse('RC090', 'a task came or was claimed while others were waited for');
    end if;
    return query
    select given.id, case
        when given.id = any(v_asked) then 'requested'
        when given.id = any(v_ended) then 'cancelled'
        when exists (select from rolecall.finished_tasks as finished where finished.id = given.id) then 'finished'
        else 'missing'
    end
    from unnest(p_ids) as given (id);
end
$$;
CREATE FUNCTION rolecall.wake(p_roles text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select pg_notify('rolecall_wake', role)
    from unnest(p_roles) as role
    where exists (
        select
        from rolecall.workers as worker
        where worker.idle
            and (worker.roles = '{}' or role = any(worker.roles))
            and worker.heartbeat_at > rolecall.clock() - interval '5 min'
    )
$$;
CREATE FUNCTION rolecall.walk_line(p_line_id integer, p_line_ids integer[], p_after rolecall.floor, p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keyed bigint[], slots smallint[], reached rolecall.floor)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    v_after rolecall.floor := p_after;
    v_step int := p_limit;
    v_whole boolean := true;
    v_met text[] := array(select task.key from rolecall.tasks as task where task.id = any(p_taken) and task.key is not null);
    v_free bigint[];
    v_keys text[];
    v_seen int;
    v_won record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    loop
        select count(*), array_agg(seen.id) filter (where seen.key is null),
            array_agg(distinct seen.key) filter (where seen.key is not null),
            (array_agg(seen.scheduled_for))[count(*)], (array_agg(seen.id))[count(*)]
        into v_seen, v_free, v_keys, v_after.scheduled_for, v_after.id
        from (
            select task.id, task.key, task.scheduled_for
            from rolecall.tasks as task
            where task.line_id = p_line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) > (v_after.scheduled_for, v_after.id)
                and task.scheduled_for <= p_now and task.id <> all(p_taken)
                and (task.key is null or task.key <> all(v_met))
            order by task.scheduled_for, task.id
            limit v_step
            for update skip locked
        ) as seen;
        exit when v_seen = 0;
        if v_keys is null then
            v_whole := v_whole and v_seen <= p_limit - cardinality(ids);
            ids := ids || v_free[1:p_limit - cardinality(ids)];
        else
            select * into v_won from rolecall.settle_keys(v_free, v_keys, p_line_ids, p_limit - cardinality(ids), p_now);
            ids := ids || v_won.ids;
            keyed := keyed || v_won.keyed;
            slots := slots || v_won.slots;
            v_met := v_met || v_keys;
            v_whole := v_whole and v_won.whole;
        end if;
        if v_whole then
            reached := v_after;
        end if;
        exit when cardinality(ids) >= p_limit or v_seen < v_step;
        v_step := least(1000, 2 * v_step);
    end loop;
    return next;
end
$$;
CREATE FUNCTION rolecall.why_lost(p_worker_id bigint, p_id bigint, p_fence integer) RETURNS text
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select coalesce(
        (
            select case
                when state = 'running' and worker_id = p_worker_id and fence = p_fence then 'owned'
                -- Whoever else takes a claim away moves the fence on.
                when state = 'pending' and fence = p_fence then 'already'
                else 'taken'
            end
            from rolecall.tasks
            where id = p_id
        ),
        (
            select case
                when worker_id = p_worker_id and fence = p_fence then 'already'
                when state = 'cancelled' then 'cancelled'
                else 'completed'
            end
            from rolecall.finished_tasks
            where id = p_id
            order by finished_at desc
            limit 1
        ),
        'deleted'
    )
$$;
CREATE FUNCTION rolecall.win_keys(p_keys text[], p_line_ids integer[], p_now timestamp with time zone) RETURNS TABLE(id bigint, key text, slot smallint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_locked text[];
begin
    with missing as materialized (
        select distinct wanted.key from unnest(p_keys) as wanted (key)
        where not exists (select from rolecall.keys as known where known.key = wanted.key)
    )
    insert into rolecall.keys (key)
    select missing.key from missing
    -- Two that insert the same row wait for each other. A thousand numbers keep the locks few; a clash costs one claim's delay.
    where pg_try_advisory_xact_lock(7246926, hashtext(missing.key) & 1023)
    on conflict do nothing;
    v_locked := array(
        select held.key from rolecall.keys as held where held.key = any(p_keys) order by held.key for update skip locked
    );
    return query
    with free as materialized (
        select lock.key, slot.number::smallint as number,
            row_number() over (partition by lock.key order by slot.number) as turn
        from rolecall.keys as lock
        cross join lateral (
            select place.number
            from generate_series(1, lock.capacity) as place (number)
            where not exists (
                select from rolecall.tasks as holder
                where holder.key = lock.key and holder.key_slot = place.number
            )
            order by place.number
            -- Holders of places that a smaller capacity no longer has count too.
            limit greatest(0, lock.capacity - (
                select count(*) from rolecall.tasks as holder
                where holder.key = lock.key and holder.key_slot is not null
            ))
        ) as slot
        where lock.key = any(v_locked)
    ),
    best as materialized (
        select wanted.key, winner.id, row_number() over (
            partition by wanted.key order by winner.priority desc, winner.scheduled_for, winner.id
        ) as turn
        from (select free.key, max(free.turn) as room from free group by free.key) as wanted
        cross join lateral (
            select task.id, task.scheduled_for, line.priority
            from rolecall.lines as line
            cross join lateral (
                select head.id, head.scheduled_for
                from rolecall.tasks as head
                where head.key = wanted.key and head.line_id = line.id
                    and head.state = 'pending' and head.scheduled_for <= p_now
                order by head.scheduled_for, head.id
                limit wanted.room
            ) as task
            where line.id = any(p_line_ids)
        ) as winner
    ),
    mine as materialized (
        select task.id from rolecall.tasks as task
        where task.id = any(array(select best.id from best join free using (key, turn))) and task.state = 'pending'
        order by task.id
        for update skip locked
    )
    select mine.id, free.key, free.number
    from mine
    join best on best.id = mine.id
    join free on free.key = best.key and free.turn = best.turn;
end
$$;
CREATE TABLE rolecall.finished_tasks (
    id bigint NOT NULL,
    chain_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    worker_id bigint,
    line_id integer NOT NULL,
    chain_index integer NOT NULL,
    fence integer NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer,
    state rolecall.task_state NOT NULL,
    key text COLLATE pg_catalog."C",
    dedupe_key text COLLATE pg_catalog."C",
    payload jsonb NOT NULL,
    retry jsonb,
    info jsonb,
    result jsonb,
    error text,
    CONSTRAINT a_failed_task_says_why CHECK (((state <> 'failed'::rolecall.task_state) OR (error IS NOT NULL))),
    CONSTRAINT only_terminal_states_stand_here CHECK ((state = ANY (ARRAY['completed'::rolecall.task_state, 'failed'::rolecall.task_state, 'cancelled'::rolecall.task_state])))
)
PARTITION BY RANGE (finished_at);
CREATE TABLE rolecall.lines (
    id integer NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    handler text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    CONSTRAINT priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100)))
);
CREATE VIEW rolecall.all_tasks AS
 SELECT task.id,
    task.state,
        CASE
            WHEN ((task.state = 'pending'::rolecall.task_state) AND task.parked) THEN 'parked'::text
            WHEN ((task.state = 'pending'::rolecall.task_state) AND (task.scheduled_for > rolecall.clock())) THEN
            CASE
                WHEN (task.attempt > 0) THEN 'retrying'::text
                ELSE 'scheduled'::text
            END
            WHEN (task.state = 'pending'::rolecall.task_state) THEN 'ready'::text
            WHEN ((task.state = 'running'::rolecall.task_state) AND (task.lease_until < rolecall.clock())) THEN 'stale'::text
            WHEN ((task.state = 'running'::rolecall.task_state) AND (task.started_at IS NULL)) THEN 'claimed'::text
            ELSE (task.state)::text
        END AS status,
    line.role,
    line.handler,
    (line.priority)::integer AS priority,
    task.payload,
    NULL::jsonb AS result,
    task.info,
    task.error,
    task.key,
    substr(task.dedupe_key, (length(line.handler) + 2)) AS dedupe_key,
    task.attempt,
    task.max_attempts,
    task.fence,
    task.worker_id,
    task.chain_id,
    task.chain_index,
    task.scheduled_for,
    task.created_at,
    task.claimed_at,
    task.started_at,
    task.lease_until,
    task.deadline_at,
    task.cancel_requested_at,
    NULL::timestamp with time zone AS finished_at
   FROM (rolecall.tasks task
     JOIN rolecall.lines line ON ((line.id = task.line_id)))
UNION ALL
 SELECT task.id,
    task.state,
    (task.state)::text AS status,
    line.role,
    line.handler,
    (line.priority)::integer AS priority,
    task.payload,
    task.result,
    task.info,
    task.error,
    task.key,
    substr(task.dedupe_key, (length(line.handler) + 2)) AS dedupe_key,
    task.attempt,
    task.max_attempts,
    task.fence,
    task.worker_id,
    task.chain_id,
    task.chain_index,
    task.scheduled_for,
    task.created_at,
    task.claimed_at,
    task.started_at,
    NULL::timestamp with time zone AS lease_until,
    NULL::timestamp with time zone AS deadline_at,
    NULL::timestamp with time zone AS cancel_requested_at,
    task.finished_at
   FROM (rolecall.finished_tasks task
     JOIN rolecall.lines line ON ((line.id = task.line_id)));
CREATE TABLE rolecall.finished_tasks_default (
    id bigint CONSTRAINT finished_tasks_id_not_null NOT NULL,
    chain_id bigint CONSTRAINT finished_tasks_chain_id_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT finished_tasks_created_at_not_null NOT NULL,
    scheduled_for timestamp with time zone CONSTRAINT finished_tasks_scheduled_for_not_null NOT NULL,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT finished_tasks_finished_at_not_null NOT NULL,
    worker_id bigint,
    line_id integer CONSTRAINT finished_tasks_line_id_not_null NOT NULL,
    chain_index integer CONSTRAINT finished_tasks_chain_index_not_null NOT NULL,
    fence integer CONSTRAINT finished_tasks_fence_not_null NOT NULL,
    attempt integer CONSTRAINT finished_tasks_attempt_not_null NOT NULL,
    max_attempts integer,
    state rolecall.task_state CONSTRAINT finished_tasks_state_not_null NOT NULL,
    key text COLLATE pg_catalog."C",
    dedupe_key text COLLATE pg_catalog."C",
    payload jsonb CONSTRAINT finished_tasks_payload_not_null NOT NULL,
    retry jsonb,
    info jsonb,
    result jsonb,
    error text,
    CONSTRAINT a_failed_task_says_why CHECK (((state <> 'failed'::rolecall.task_state) OR (error IS NOT NULL))),
    CONSTRAINT only_terminal_states_stand_here CHECK ((state = ANY (ARRAY['completed'::rolecall.task_state, 'failed'::rolecall.task_state, 'cancelled'::rolecall.task_state])))
);
CREATE TABLE rolecall.handlers (
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    description text DEFAULT ''::text NOT NULL,
    signature jsonb,
    lease interval,
    timeout interval,
    max_attempts integer,
    retry jsonb,
    CONSTRAINT lease_is_between_a_tenth_of_a_second_and_a_day CHECK (((lease >= '00:00:00.1'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT max_attempts_is_positive_or_zero_for_unlimited CHECK ((max_attempts >= 0)),
    CONSTRAINT name_is_a_word CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT retry_is_a_policy CHECK (((retry ->> 'kind'::text) = ANY (ARRAY['none'::text, 'linear'::text, 'exponential'::text]))),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval))
);
CREATE TABLE rolecall.keys (
    key text NOT NULL COLLATE pg_catalog."C",
    capacity smallint DEFAULT 1 NOT NULL,
    CONSTRAINT capacity_is_positive CHECK ((capacity > 0))
);
CREATE TABLE rolecall.roles (
    name text NOT NULL COLLATE pg_catalog."C",
    description text DEFAULT ''::text NOT NULL,
    lease interval DEFAULT '00:01:00'::interval NOT NULL,
    timeout interval DEFAULT '01:00:00'::interval NOT NULL,
    max_attempts integer DEFAULT 5,
    retry jsonb DEFAULT '{"cap": 300, "kind": "exponential", "first": 10, "factor": 2, "jitter": 0.1}'::jsonb NOT NULL,
    max_payload_bytes integer DEFAULT 1048576 NOT NULL,
    keep_completed interval DEFAULT '7 days'::interval NOT NULL,
    keep_failed interval DEFAULT '30 days'::interval NOT NULL,
    paused_at timestamp with time zone,
    CONSTRAINT lease_is_between_a_tenth_of_a_second_and_a_day CHECK (((lease >= '00:00:00.1'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT max_attempts_is_positive_or_null_for_unlimited CHECK ((max_attempts > 0)),
    CONSTRAINT max_payload_bytes_is_between_1_kb_and_64_mb CHECK (((max_payload_bytes >= 1024) AND (max_payload_bytes <= 67108864))),
    CONSTRAINT name_is_a_word CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT retry_is_a_policy CHECK (((retry ->> 'kind'::text) = ANY (ARRAY['none'::text, 'linear'::text, 'exponential'::text]))),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval))
);
CREATE VIEW rolecall.line_settings AS
 SELECT line.id AS line_id,
    line.role,
    line.handler,
    line.priority,
    COALESCE(handler.lease, role.lease) AS lease,
    COALESCE(handler.timeout, role.timeout) AS timeout,
    COALESCE(handler.retry, role.retry) AS retry,
    (role.paused_at IS NOT NULL) AS paused
   FROM ((rolecall.lines line
     JOIN rolecall.roles role ON ((role.name = line.role)))
     LEFT JOIN rolecall.handlers handler ON ((handler.name = line.handler)));
ALTER TABLE rolecall.lines ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.lines_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE rolecall.schedules ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.schedules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE rolecall.schema_migrations (
    package text NOT NULL,
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    breaking boolean DEFAULT true NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE rolecall.server_epoch (
    only_row boolean DEFAULT true NOT NULL,
    postmaster_started_at timestamp with time zone NOT NULL,
    timeline text NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT there_is_only_one_row CHECK (only_row)
);
CREATE TABLE rolecall.task_events (
    task_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    attempt integer NOT NULL,
    worker_id bigint,
    detail text
)
PARTITION BY RANGE (at);
CREATE TABLE rolecall.task_events_default (
    task_id bigint CONSTRAINT task_events_task_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT task_events_at_not_null NOT NULL,
    kind text CONSTRAINT task_events_kind_not_null NOT NULL,
    attempt integer CONSTRAINT task_events_attempt_not_null NOT NULL,
    worker_id bigint,
    detail text
);
ALTER TABLE rolecall.tasks ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rolecall.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE rolecall.workers (
    id bigint NOT NULL,
    name text NOT NULL,
    roles text[] NOT NULL,
    handlers text[] NOT NULL,
    slots integer NOT NULL,
    held integer DEFAULT 0 NOT NULL,
    idle boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    host text,
    pid integer,
    version text,
    CONSTRAINT a_stopped_worker_is_not_idle CHECK (((stopped_at IS NULL) OR (NOT idle))),
    CONSTRAINT slots_are_positive CHECK ((slots > 0))
)
WITH (fillfactor='50');
ALTER TABLE rolecall.workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY rolecall.finished_tasks ATTACH PARTITION rolecall.finished_tasks_default DEFAULT;
ALTER TABLE ONLY rolecall.task_events ATTACH PARTITION rolecall.task_events_default DEFAULT;
ALTER TABLE ONLY rolecall.handlers
    ADD CONSTRAINT handlers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rolecall.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key);
ALTER TABLE ONLY rolecall.lines
    ADD CONSTRAINT lines_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.roles
    ADD CONSTRAINT roles_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rolecall.schedules
    ADD CONSTRAINT schedules_name_key UNIQUE (name);
ALTER TABLE ONLY rolecall.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (package, version);
ALTER TABLE ONLY rolecall.server_epoch
    ADD CONSTRAINT server_epoch_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX finished_tasks_by_id ON ONLY rolecall.finished_tasks USING btree (id);
CREATE INDEX finished_tasks_default_id_idx ON rolecall.finished_tasks_default USING btree (id);
CREATE INDEX lines_by_name ON rolecall.lines USING btree (role, handler, priority);
CREATE UNIQUE INDEX one_active_task_per_key_slot ON rolecall.tasks USING btree (key, key_slot) WHERE (key_slot IS NOT NULL);
CREATE UNIQUE INDEX one_open_task_per_dedupe_key ON rolecall.tasks USING btree (dedupe_key) WHERE (dedupe_key IS NOT NULL);
CREATE INDEX schedules_due ON rolecall.schedules USING btree (next_run_at) WHERE enabled;
CREATE INDEX task_events_by_task ON ONLY rolecall.task_events USING btree (task_id);
CREATE INDEX task_events_default_task_id_idx ON rolecall.task_events_default USING btree (task_id);
CREATE INDEX tasks_in_line ON rolecall.tasks USING btree (line_id, scheduled_for, id) WHERE ((state = 'pending'::rolecall.task_state) AND (NOT parked));
CREATE INDEX tasks_running ON rolecall.tasks USING btree (worker_id) WHERE (state = 'running'::rolecall.task_state);
CREATE INDEX tasks_to_park ON rolecall.tasks USING btree (key) WHERE ((state = 'pending'::rolecall.task_state) AND (parked IS NOT TRUE) AND (key IS NOT NULL));
CREATE INDEX tasks_wanting_key ON rolecall.tasks USING btree (key, line_id, scheduled_for, id) WHERE ((state = 'pending'::rolecall.task_state) AND (key IS NOT NULL));
ALTER INDEX rolecall.finished_tasks_by_id ATTACH PARTITION rolecall.finished_tasks_default_id_idx;
ALTER INDEX rolecall.task_events_by_task ATTACH PARTITION rolecall.task_events_default_task_id_idx;
