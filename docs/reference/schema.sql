CREATE SCHEMA rolecall;
CREATE TYPE rolecall.child_rule AS ENUM (
    'fail_parent',
    'ignore',
    'cancel_siblings'
);
CREATE TYPE rolecall.claimant AS (
	worker_id bigint,
	roles text[],
	handlers text[],
	ahead boolean
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
CREATE TYPE rolecall.ending AS (
	id bigint,
	state rolecall.task_state,
	chain_id bigint,
	parent_id bigint,
	depth integer,
	on_failure rolecall.child_rule,
	needed boolean,
	continued boolean,
	open_children integer
);
CREATE TYPE rolecall.floor AS (
	scheduled_for timestamp with time zone,
	id bigint,
	look_below_at timestamp with time zone
);
CREATE TYPE rolecall.key_room AS (
	key text,
	capacity integer,
	free smallint[]
);
CREATE TYPE rolecall.need_rule AS ENUM (
    'fail',
    'ignore'
);
CREATE TYPE rolecall.place AS (
	chain_id bigint,
	chain_index integer,
	origin_id bigint,
	parent_id bigint,
	parent_fence integer,
	depth integer,
	priority integer,
	scheduled_for timestamp with time zone,
	needed boolean,
	on_failure rolecall.child_rule
);
CREATE TYPE rolecall.scope AS ENUM (
    'read',
    'operate',
    'admin'
);
CREATE TYPE rolecall.task_filter AS (
	ids bigint[],
	state text,
	role text,
	handler text,
	key text,
	worker_id bigint,
	chain_id bigint,
	parent_id bigint,
	roots boolean,
	text text,
	created_from timestamp with time zone,
	created_to timestamp with time zone,
	finished_from timestamp with time zone,
	finished_to timestamp with time zone
);
CREATE FUNCTION rolecall.add_children(p_parent_id bigint, p_fence integer, p_drafts jsonb, p_serial boolean) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_parent record;
    v_drafts jsonb := p_drafts;
    v_place rolecall.place;
    v_stored record;
    v_stood int;
begin
    if jsonb_typeof(p_drafts) <> 'array' then
        perform rolecall.refuse('RC040', 'children are an array of tasks');
    elsif p_drafts = '[]' then
        return '{}';
    end if;
    select task.fence, coalesce(task.depth, 0) + 1 as depth, task.scheduled_for - interval '1 us' as turn, task.serial,
        line.priority
    into v_parent
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    where task.id = p_parent_id;
    if not found then
        perform rolecall.refuse('RC044', format('the parent task %s is not open', p_parent_id));
    end if;
    if coalesce(p_serial, v_parent.serial) then
        v_drafts := rolecall.one_after_the_other(p_drafts, (
            select max(task.id) from rolecall.tasks as task where v_parent.serial and task.parent_id = p_parent_id
        ));
    end if;
    -- Counted before they are stored: one that fails at once, with what it needs, is taken off again.
    update rolecall.tasks as task
    set open_children = coalesce(task.open_children, 0) + jsonb_array_length(p_drafts), serial = coalesce(p_serial, task.serial, false)
    where task.id = p_parent_id;
    v_place := (
        null, null, null, p_parent_id, coalesce(p_fence, v_parent.fence), v_parent.depth, v_parent.priority, v_parent.turn, null, null
    );
    select * into v_stored from rolecall.store_tasks(v_drafts, array_fill(v_place, array[jsonb_array_length(v_drafts)]));
    if p_drafts @? '$[*].key' then
        perform rolecall.refuse_circle(v_stored.ids, p_parent_id);
    end if;
    v_stood := cardinality(v_stored.deduplicated);
    if v_stood > 0 then
        perform rolecall.conclude(array_fill(
            (null, 'completed', null, p_parent_id, v_parent.depth, null, null, null, null)::rolecall.ending, array[v_stood]
        ), null);
    end if;
    return v_stored.ids;
end
$_$;
CREATE FUNCTION rolecall.add_person(p_name text, p_scope rolecall.scope, p_password_hash text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.require_durability();
    insert into rolecall.people (name, scope, password_hash, created_at)
    values (p_name, p_scope, p_password_hash, rolecall.clock())
    on conflict (name) do nothing
    returning id
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
    origin_id bigint,
    parent_id bigint,
    parent_fence integer,
    depth smallint,
    on_failure rolecall.child_rule,
    step smallint,
    gathers boolean,
    serial boolean,
    open_children integer,
    children_info jsonb,
    open_needs integer,
    needed boolean,
    dedupe_pending boolean,
    timeout interval,
    result jsonb,
    step_number integer,
    CONSTRAINT a_child_knows_which_claim_spawned_it CHECK ((num_nonnulls(parent_id, parent_fence, depth) = ANY (ARRAY[0, 3]))),
    CONSTRAINT a_claim_counts_an_attempt CHECK (((state <> 'running'::rolecall.task_state) OR ((attempt > 0) AND (fence > 0)))),
    CONSTRAINT attempts_stay_within_max_attempts CHECK (((attempt >= 0) AND ((max_attempts IS NULL) OR (attempt <= max_attempts)))),
    CONSTRAINT blocked_iff_it_needs_something CHECK (((open_needs IS NOT NULL) = (state = 'blocked'::rolecall.task_state))),
    CONSTRAINT holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps CHECK (
CASE
    WHEN ((key IS NOT NULL) AND (state = ANY (ARRAY['running'::rolecall.task_state, 'waiting'::rolecall.task_state]))) THEN (key_slot IS NOT NULL)
    WHEN ((key IS NOT NULL) AND (state = 'pending'::rolecall.task_state) AND (step IS NOT NULL)) THEN true
    ELSE (key_slot IS NULL)
END),
    CONSTRAINT only_open_states_stand_here CHECK ((state = ANY (ARRAY['blocked'::rolecall.task_state, 'pending'::rolecall.task_state, 'running'::rolecall.task_state, 'waiting'::rolecall.task_state]))),
    CONSTRAINT only_pending_keyed_tasks_are_parked CHECK (((NOT parked) OR ((state = 'pending'::rolecall.task_state) AND (key IS NOT NULL)))),
    CONSTRAINT only_running_or_waiting_tasks_have_started CHECK (((started_at IS NULL) OR (state = ANY (ARRAY['running'::rolecall.task_state, 'waiting'::rolecall.task_state])))),
    CONSTRAINT only_running_tasks_await_their_cancellation CHECK (((cancel_requested_at IS NULL) OR (state = 'running'::rolecall.task_state))),
    CONSTRAINT open_children_are_counted_from_one CHECK ((open_children > 0)),
    CONSTRAINT open_needs_are_counted_from_one CHECK ((open_needs > 0)),
    CONSTRAINT payload_is_an_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT running_iff_owned_leased_and_bounded CHECK ((num_nonnulls(worker_id, claimed_at, lease_until, deadline_at) =
CASE
    WHEN (state = 'running'::rolecall.task_state) THEN 4
    ELSE 0
END)),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval)),
    CONSTRAINT waiting_only_for_children CHECK (((state <> 'waiting'::rolecall.task_state) OR (open_children IS NOT NULL)))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');
CREATE FUNCTION rolecall.ahead_in_line(p_task rolecall.tasks, p_most integer, p_now timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
    select count(*)
    from (
        select
        from rolecall.rival_lines(p_task.line_id, p_task.scheduled_for, p_task.id, true, p_now) as line
        cross join lateral (
            select
            from rolecall.tasks as task
            where task.line_id = line.line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) < (line.due_before, line.id_before) and task.scheduled_for <= p_now
            limit p_most
        ) as before
        limit p_most
    ) as counted
$$;
CREATE FUNCTION rolecall.amended_schedule(p_standing jsonb, p_said jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select (p_standing - array_remove(array[
            case when p_said -> 'key' = 'null' then 'key' end,
            case when said.document ->> 'handler' <> p_standing ->> 'handler' then 'role' end,
            case when said.document ? 'every' then 'cron' end,
            case when said.document ? 'cron' then 'every' end
        ], null)) || said.document
    from (select rolecall.without_nulls(p_said) as document) as said
$$;
CREATE FUNCTION rolecall.ancestors_of(p_id bigint) RETURNS TABLE(id bigint, handler text, state rolecall.task_state)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with recursive above as (
        select task.id, task.parent_id, 0 as distance, task.handler, task.state
        from rolecall.all_tasks as task
        where task.id = p_id
        union all
        select task.id, task.parent_id, above.distance + 1, task.handler, task.state
        from above
        cross join lateral (select each.* from rolecall.all_tasks as each where each.id = above.parent_id offset 0) as task
    )
    select above.id, above.handler, above.state from above where above.distance > 0 order by above.distance desc
$$;
CREATE FUNCTION rolecall.await_needs_again(p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_id bigint;
begin
    update rolecall.needs as need
    set outcome = null
    where need.task_id = any(p_ids) and need.outcome <> 'completed' and need.on_failure = 'fail'
        and rolecall.is_open(need.needed_id, need.whole_chain);
    perform rolecall.mark_needed(p_ids);
    update rolecall.needs as need
    set outcome = coalesce(rolecall.outcome_of(need.needed_id, need.whole_chain), 'cancelled')
    where need.task_id = any(p_ids) and need.outcome is null and not rolecall.is_open(need.needed_id, need.whole_chain);
    update rolecall.tasks as task
    set state = 'blocked', open_needs = open.number
    from (
        select need.task_id, count(*)::int as number
        from rolecall.needs as need
        where need.task_id = any(p_ids) and need.outcome is null
        group by need.task_id
    ) as open
    where task.id = open.task_id;
    for v_id in
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids) and (task.state = 'blocked' or (task.parent_id is not null and task.key is not null))
    loop
        perform rolecall.refuse_circle(array[v_id], v_id);
    end loop;
end
$$;
CREATE FUNCTION rolecall.backlog(p_now timestamp with time zone) RETURNS TABLE(line_id integer, ready bigint, scheduled bigint, running bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select part.line_id, sum(part.ready)::bigint, sum(part.scheduled)::bigint, sum(part.running)::bigint
    from (
        select line_id, count(*) filter (where scheduled_for <= p_now) as ready,
            count(*) filter (where scheduled_for > p_now) as scheduled, 0 as running
        from rolecall.tasks
        where state = 'pending' and not parked
        group by line_id
        union all
        select line_id, 0, 0, count(*) from rolecall.tasks where state = 'running' group by line_id
    ) as part
    group by part.line_id
$$;
CREATE FUNCTION rolecall.beat(p_worker_id bigint, p_held integer, p_idle boolean, p_condition jsonb DEFAULT '{}'::jsonb) RETURNS TABLE(known boolean, command text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
#variable_conflict use_column
begin
    update rolecall.workers as worker
    set heartbeat_at = rolecall.clock(), held = p_held,
        cpu = (p_condition ->> 'cpu')::float8,
        memory = (p_condition ->> 'memory')::float8,
        memory_bytes = (p_condition ->> 'memory_bytes')::bigint,
        backing_off = p_condition ->> 'backing_off',
        following = p_condition ->> 'following',
        -- Against the server's clock, not that of a test: neither is one that a worker could be compared with.
        clock_ahead = (p_condition ->> 'clock')::float8 - extract(epoch from clock_timestamp())::float8
    where worker.id = p_worker_id and worker.stopped_at is null
    returning true, worker.command into known, command;
    known := coalesce(known, false);
    perform rolecall.set_idle_mark(p_worker_id, p_idle and known);
    return next;
end
$$;
CREATE FUNCTION rolecall.begin_login(p_digest bytea, p_most integer, p_lockout interval) RETURNS double precision
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz;
    v_old rolecall.login_attempts;
    v_attempts int;
begin
    insert into rolecall.login_attempts (digest, attempts, last_at) values (p_digest, 0, rolecall.clock()) on conflict do nothing;
    select * into v_old from rolecall.login_attempts where digest = p_digest for update;
    -- Only now: whoever was waited for here has read the clock later than this call began.
    v_now := rolecall.clock();
    if v_old.locked_until > v_now then
        return extract(epoch from v_old.locked_until - v_now);
    end if;
    v_attempts := 1 + case when v_old.locked_until is null and v_old.last_at > v_now - p_lockout then v_old.attempts else 0 end;
    update rolecall.login_attempts
    set attempts = v_attempts, last_at = v_now, locked_until = case when v_attempts >= p_most then v_now + p_lockout end
    where digest = p_digest;
    return null;
end
$$;
CREATE FUNCTION rolecall.begin_of_bin(p_width integer, p_moment timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select date_bin(make_interval(secs => p_width), p_moment, 'epoch')
$$;
CREATE FUNCTION rolecall.begin_of_history(p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select rolecall.begin_of_bin(3600, greatest(p_now - (select max(kept) from rolecall.history_tiers()), least(p_now, (
        select min(to_date(right(name, 8), 'YYYYMMDD'))
        from rolecall.old_partitions('rolecall.finished_tasks', (p_now at time zone 'utc')::date) as name
    )::timestamp at time zone 'utc')))
$$;
CREATE FUNCTION rolecall.begun_tasks(p_since timestamp with time zone) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
begin
    return query
    select task.id
    from rolecall.tasks as task
    where task.state = 'running' and (task.claimed_at >= p_since or task.started_at >= p_since);
end
$$;
CREATE FUNCTION rolecall.bring_back(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_back bigint[];
begin
    with back as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, fence, max_attempts, key, dedupe_key, payload, retry,
            info, error, origin_id, parent_id, parent_fence, depth, on_failure, dedupe_pending, timeout
        )
        select
            id, chain_id, chain_index, created_at, v_now, line.here, fence, max_attempts, key, dedupe_key, payload, retry,
            case when not exists (select from rolecall.finished_tasks as child where child.parent_id = ended.id) then info end,
            error, origin_id, parent_id, parent_fence, depth, on_failure, dedupe_pending, timeout
        from rolecall.finished_tasks as ended
        cross join lateral (
            -- What became of it before says nothing about who may take it now.
            select rolecall.find_or_add_line(last.role, last.handler, last.priority, coalesce(ended.max_attempts = 1, false), '{}') as here
            from rolecall.lines as last
            where last.id = ended.line_id
        ) as line
        where id = any(p_ids) and state in ('failed', 'cancelled')
        order by dedupe_key, id
        on conflict do nothing
        returning tasks.id
    ),
    gone as (
        delete from rolecall.finished_tasks where id in (select back.id from back)
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select back.id, v_now, 'retried', 0 from back
    )
    select coalesce(array_agg(back.id), '{}') into v_back from back;
    update rolecall.tasks as parent
    set open_children = coalesce(parent.open_children, 0) + child.number
    from (
        select task.parent_id, count(*)::int as number
        from rolecall.tasks as task
        where task.id = any(v_back) and task.parent_id <> all(v_back)
        group by task.parent_id
    ) as child
    where parent.id = child.parent_id;
    update rolecall.tasks as parent
    set open_children = child.number
    from (
        select task.parent_id, count(*)::int as number
        from rolecall.tasks as task
        where task.parent_id = any(v_back)
        group by task.parent_id
    ) as child
    where parent.id = child.parent_id;
    return v_back;
end
$$;
CREATE FUNCTION rolecall.call_hook(p_procedure text, p_payload jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '0'
    AS $_$
begin
    perform set_config('search_path', rolecall.path_of_procedures(), true);
    set local lock_timeout to default;
    execute 'call ' || p_procedure || '($1)' using p_payload;
end
$_$;
CREATE FUNCTION rolecall.call_procedure(p_procedure text, p_payload jsonb, p_info jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_info jsonb;
begin
    if p_procedure is null then
        perform rolecall.refuse('RC041', 'no procedure of the database is declared as this handler');
    end if;
    perform set_config('search_path', rolecall.path_of_procedures(), true);
    execute 'call ' || p_procedure || '($1, $2)' into v_info using p_payload, p_info;
    return v_info;
end
$_$;
CREATE FUNCTION rolecall.cancel(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_cancel(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks are gone again: the next try takes what has come, and asks what was claimed to stop.
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.cancel_below(p_ids bigint[], p_but bigint[]) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_below bigint[] := array(
        select tree.id from unnest(rolecall.with_open_descendants(p_ids)) as tree (id) where tree.id <> all(p_ids || p_but)
    );
begin
    if v_below = '{}' then
        return;
    end if;
    perform rolecall.request_cancellation(v_below);
    return query
    select let_go.keys, let_go.endings
    from rolecall.let_go((
        select jsonb_agg(jsonb_build_object('id', task.id, 'reason', 'cancelled'))
        from rolecall.tasks as task
        where task.id = any(v_below) and task.state <> 'running'
    )) as let_go;
end
$$;
CREATE FUNCTION rolecall.capacity(p_role text DEFAULT NULL::text) RETURNS TABLE(role text, pending_tasks bigint, ready_tasks bigint, running_tasks bigint, active_workers bigint, claimed_last_hour bigint, completed_last_hour bigint, failed_last_hour bigint, tasks_per_worker_hour double precision, estimated_hours_to_drain double precision, arrived_last_hour bigint, measured_runs bigint, oldest_waiting_seconds double precision, paused boolean)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    active as (
        select role.name as role, count(*) as workers, avg(worker.slots)::float8 as slots
        from rolecall.roles as role
        join rolecall.workers as worker on worker.roles = '{}' or role.name = any(worker.roles)
        cross join moment
        where worker.stopped_at is null and worker.heartbeat_at > moment.now - interval '5 min'
            -- Who was told to take no more does not count, nor who has none of its handlers.
            and worker.command is null
            and (role.name = any(worker.handlers) or exists (
                select from rolecall.handlers as handler
                where handler.role = role.name and handler.name = any(worker.handlers)
            ))
        group by role.name
    ),
    figures as (
        select
            role.name, coalesce(open.pending, 0) as pending, coalesce(open.ready, 0) as ready,
            coalesce(open.running, 0) as running, coalesce(active.workers, 0) as workers,
            coalesce(open.claimed, 0) + coalesce(work.claimed, 0) as claimed,
            coalesce(work.completed, 0) as completed, coalesce(work.failed, 0) as failed,
            work.runs * 3600 / nullif(work.slot_seconds, 0) * coalesce(active.slots, work.slots, 1) as rate,
            coalesce(open.arrived, 0) + coalesce(work.arrived, 0) as arrived, coalesce(work.runs, 0) as runs,
            extract(epoch from moment.now - open.waiting_since)::float8 as waited,
            role.paused_at is not null and (role.paused_until <= moment.now) is not true as paused
        from rolecall.roles as role
        cross join moment
        left join rolecall.open_load(p_role, moment.now) as open on open.role = role.name
        left join rolecall.recent_work(p_role, moment.now) as work on work.role = role.name
        left join active on active.role = role.name
        where p_role is null or role.name = p_role
    )
    select
        name, pending, ready, running, workers, claimed, completed, failed, rate,
        pending / nullif(rate * workers, 0), arrived, runs, waited, paused
    from figures
    order by name
$$;
CREATE FUNCTION rolecall.capacity_of(p_key text, p_own smallint) RETURNS TABLE(capacity integer)
    LANGUAGE sql STABLE
    AS $$
    select coalesce(
        p_own,
        -- Most pools have no patterns: that is asked once a query, not once a key.
        case when exists (select from rolecall.key_patterns) then (
            select pattern.capacity from rolecall.pattern_of_key(p_key) as pattern
        ) end,
        1
    )::int
$$;
CREATE FUNCTION rolecall.chain_is_like(p_id bigint, p_state text, p_role text, p_handler text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select exists (
        select from rolecall.chains as chain
        where chain.id = p_id
            and (p_state is null or p_state = chain.state::text or p_state = chain.status or (p_state = 'open' and chain.open))
            and (p_role is null or chain.role = p_role) and (p_handler is null or chain.handler = p_handler)
    )
$$;
CREATE FUNCTION rolecall.chains_with_all_below(p_ids bigint[], p_needed_too boolean) RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with recursive found as (
        select given.id as chain_id
        from unnest(p_ids) as given (id)
        where exists (select from rolecall.tasks_of_chain(given.id))
        union
        select further.chain_id
        from found
        cross join lateral rolecall.tasks_of_chain(found.chain_id) as task
        cross join lateral (
            select child.chain_id from rolecall.tasks as child where child.parent_id = task.id
            union all
            select child.chain_id from rolecall.finished_tasks as child where child.parent_id = task.id
            union all
            select coalesce(
                (select needed.chain_id from rolecall.tasks as needed where needed.id = need.needed_id),
                (select needed.chain_id from rolecall.finished_tasks as needed where needed.id = need.needed_id limit 1)
            )
            from rolecall.needs as need
            where p_needed_too and need.task_id = task.id
        ) as further
        where further.chain_id is not null
    )
    select coalesce(array_agg(chain_id order by chain_id), '{}') from found
$$;
CREATE FUNCTION rolecall.changed_tasks(p_since timestamp with time zone, p_after_id bigint, p_limit integer) RETURNS TABLE(id bigint, parent_id bigint, role text, state rolecall.task_state, version text)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
declare
    -- Days to come have partitions already: an end to the range keeps them out of it.
    v_until timestamptz := rolecall.clock() + interval '1 hour';
begin
    return query
    with ended as materialized (
        select task.id, task.parent_id, task.chain_id, task.line_id, task.state, task.fence
        from rolecall.finished_tasks as task
        where task.finished_at >= p_since and task.finished_at < v_until
        limit p_limit + 1
    ),
    born as materialized (
        select task.id, task.parent_id from rolecall.tasks as task where task.id > p_after_id order by task.id limit p_limit + 1
    ),
    touched as (
        select born.id from born
        union
        select begun.id from rolecall.begun_tasks(p_since) as begun (id)
        union
        select event.task_id from rolecall.task_events as event where event.at >= p_since and event.at < v_until
        union
        select born.parent_id from born
        union
        select ended.parent_id from ended
        union
        select need.task_id
        from (select ended.id from ended union select ended.chain_id from ended) as met
        join rolecall.needs as need on need.needed_id = met.id
    )
    select changed.id, changed.parent_id, line.role, changed.state, changed.version
    from (
        select ended.id, ended.parent_id, ended.line_id, ended.state, ended.fence::text as version from ended
        union all
        select task.id, task.parent_id, task.line_id, task.state,
            concat_ws('/', task.fence, task.attempt, coalesce(task.step_number, task.step), task.open_children, task.started_at is not null)
        from touched
        join rolecall.tasks as task on task.id = touched.id
        limit p_limit + 1
    ) as changed
    join rolecall.lines as line on line.id = changed.line_id;
end
$$;
CREATE FUNCTION rolecall.changes(p_since timestamp with time zone, p_after_id bigint, p_limit integer) RETURNS TABLE(at timestamp with time zone, last_id bigint, snapshot pg_snapshot, writing xid[], id bigint, parent_id bigint, role text, state rolecall.task_state, version text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select rolecall.clock(), case when drawn.is_called then drawn.last_value else 0 end, pg_current_snapshot(),
        array(select session.backend_xid from pg_stat_activity as session where session.backend_xid is not null),
        task.id, task.parent_id, task.role, task.state, task.version
    from rolecall.tasks_id_seq as drawn
    left join rolecall.changed_tasks(p_since, p_after_id, p_limit) as task on true
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
CREATE FUNCTION rolecall.check_ends(p_ends jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
declare
    v_problem text;
begin
    select case
        when item.state is null or item.state not in ('completed', 'failed')
            then format('task %s cannot end from outside as %L: completed or failed', item.id, item.state)
        when item.state = 'failed' then format('task %s fails: nothing comes next', item.id)
        else format('task %s ends: it can have no more children', item.id)
    end
    into v_problem
    from jsonb_to_recordset(p_ends) as item (id bigint, state text, next jsonb)
    where item.state is null or item.state not in ('completed', 'failed')
        or (item.next is not null and (item.state = 'failed' or nullif(item.next -> 'children', 'null') is not null))
    limit 1;
    if found then
        perform rolecall.refuse('RC042', v_problem);
    end if;
end
$$;
CREATE FUNCTION rolecall.check_key_capacity(p_pattern text, p_capacity integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
begin
    if p_pattern is null or length(p_pattern) not between 1 and 200 then
        perform rolecall.refuse('RC041', 'a key has 1 to 200 characters');
    elsif position('*' in left(p_pattern, -1)) > 0 then
        perform rolecall.refuse('RC041', format('%L has a star before its end: a pattern of keys is a beginning and one star', p_pattern));
    elsif p_capacity not between 1 and 32767 then
        perform rolecall.refuse('RC041', format('the capacity of %L is a number from 1 to 32767, not %s', p_pattern, p_capacity));
    end if;
end
$$;
CREATE FUNCTION rolecall.check_outcomes(p_reports jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
declare
    v_odd record;
begin
    select * into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text)
    where outcome is null or outcome not in ('completed', 'failed', 'snoozed', 'blocked', 'cancelled', 'returned', 'misfit')
    limit 1;
    if found then
        perform rolecall.refuse('RC042', format('the report on task %s has the unknown outcome %L', v_odd.id, v_odd.outcome));
    end if;
    select report.id, rolecall.needs_problem(report.needs) as problem into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text, needs jsonb)
    where outcome = 'blocked'
        and (report.needs is null or report.needs = '[]' or rolecall.needs_problem(report.needs) is not null)
    limit 1;
    if found then
        perform rolecall.refuse(
            case when v_odd.problem is null then 'RC042' else 'RC040' end,
            format('the report on task %s is blocked: %s', v_odd.id, coalesce(v_odd.problem, 'it says not by what'))
        );
    end if;
end
$$;
CREATE FUNCTION rolecall.check_procedures(p_handlers jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
declare
    v_said record;
begin
    for v_said in
        select * from jsonb_to_recordset(p_handlers) as said (name text, procedure text, before text, after text)
    loop
        if v_said.procedure is null and num_nonnulls(v_said.before, v_said.after) > 0 then
            perform rolecall.refuse('RC041', format('%s: only a procedure has hooks before and after it', v_said.name));
        elsif v_said.procedure is not null and rolecall.find_procedure(v_said.procedure, false) is null then
            perform rolecall.refuse('RC041', format(
                '%s: there is no procedure %s(payload jsonb, inout info jsonb); say its schema too', v_said.name, v_said.procedure
            ));
        end if;
        perform rolecall.refuse('RC041', format(
            '%s: there is no procedure %s(payload jsonb); say its schema too', v_said.name, hook.name
        ))
        from unnest(array[v_said.before, v_said.after]) as hook (name)
        where hook.name is not null and rolecall.find_procedure(hook.name, true) is null;
    end loop;
end
$$;
CREATE FUNCTION rolecall.check_schedule(p_schedule jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_name text := p_schedule ->> 'name';
    v_every float8 := (p_schedule ->> 'every')::float8;
    v_jitter float8 := coalesce((p_schedule ->> 'jitter')::float8, 0);
    v_misfire text := coalesce(p_schedule ->> 'misfire', 'one');
    v_overlap text := coalesce(p_schedule ->> 'overlap', 'queue');
    v_problem text;
begin
    if coalesce(length(v_name), 0) not between 1 and 100 then
        perform rolecall.refuse('RC021', 'a schedule has a name of 1 to 100 characters');
    end if;
    v_problem := case
        when num_nonnulls(p_schedule ->> 'every', p_schedule ->> 'cron') = 0 then
            'it needs an interval (every) or a cron expression (cron)'
        when num_nonnulls(p_schedule ->> 'every', p_schedule ->> 'cron') = 2 then
            'it has either an interval (every) or a cron expression (cron), not both'
        when v_every not between 1 and 315360000 then 'every is 1 to 315360000 seconds'
        when length(p_schedule ->> 'cron') > 200 then 'a cron expression has at most 200 characters'
        when not isfinite((p_schedule ->> 'first_run_at')::timestamptz) then 'first_run_at is a moment, not infinity'
        when v_misfire not in ('skip', 'one', 'all') then format('misfire is skip, one or all, not %L', v_misfire)
        when v_overlap not in ('skip', 'queue', 'cancel') then format('overlap is skip, queue or cancel, not %L', v_overlap)
        when v_misfire = 'all' and v_overlap <> 'queue' then
            format('misfire all needs overlap queue: with %s only one of the missed runs would stay', v_overlap)
        when v_jitter not between 0 and 86400 then 'jitter is 0 to 86400 seconds'
        when v_jitter > v_every then 'jitter is no longer than the interval'
    end;
    perform rolecall.refuse('RC021', format('schedule %s: %s', v_name, v_problem)) where v_problem is not null;
    -- What refuses a task refuses the schedule that would enqueue it.
    perform rolecall.read_drafts(jsonb_build_array(
        jsonb_build_object('payload', '{}'::jsonb) || (
            select coalesce(jsonb_object_agg(said.key, said.value), '{}')
            from jsonb_each(p_schedule) as said
            where said.key in ('role', 'handler', 'payload', 'priority', 'key')
        )
    ), rolecall.clock());
end
$$;
CREATE FUNCTION rolecall.children_in_order(p_parent_id bigint, p_after bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 50) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select child.id
    from (
        select id from rolecall.tasks where parent_id = p_parent_id
        union all
        select id from rolecall.finished_tasks where parent_id = p_parent_id
    ) as child
    where p_after is null or child.id > p_after
    order by child.id
    limit p_limit
$$;
CREATE FUNCTION rolecall.children_of(p_parent_id bigint) RETURNS TABLE(id bigint, handler text, state rolecall.task_state, payload jsonb, result jsonb, info jsonb, error text, chain_id bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with child as (
        select task.id, task.line_id, task.state, task.payload, null::jsonb as result, task.info, task.error, task.chain_id, task.parent_fence
        from rolecall.tasks as task
        where task.parent_id = p_parent_id
        union all
        select task.id, task.line_id, task.state, task.payload, task.result, task.info, task.error, task.chain_id, task.parent_fence
        from rolecall.finished_tasks as task
        where task.parent_id = p_parent_id and task.continued is not true
    )
    select child.id, line.handler, child.state, child.payload, child.result, child.info, child.error, child.chain_id
    from child
    join rolecall.lines as line on line.id = child.line_id
    where child.parent_fence = (select max(latest.parent_fence) from child as latest)
    order by child.chain_id
$$;
CREATE FUNCTION rolecall.children_together(p_documents jsonb) RETURNS jsonb
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select jsonb_agg(document order by task.parent_id nulls first, task.id)
    from jsonb_array_elements(p_documents) as document
    left join lateral (
        select open.parent_id, open.id from rolecall.tasks as open where open.id = (document -> 'id')::bigint offset 0
    ) as task on true
$$;
CREATE FUNCTION rolecall.choose_tasks(p_claimant rolecall.claimant, p_limit integer, p_start integer, p_now timestamp with time zone) RETURNS TABLE(ids bigint[], slots smallint[], held_back boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_keyed bigint[] := '{}';
    v_level record;
    v_got record;
    v_in_order boolean := true;
begin
    ids := '{}';
    slots := '{}';
    held_back := false;
    for v_level in
        select array_agg(line.line_id) as lines, bool_or(line.never_ahead) as some_never_ahead
        from rolecall.lines_of_claim(rolecall.open_lines(), p_claimant, p_now) as line
        group by line.priority
        order by line.priority desc
    loop
        if v_level.some_never_ahead and p_start < p_limit then
            select * into v_got from rolecall.pick_in_two_turns(
                v_level.lines, p_claimant, p_limit - cardinality(ids), p_start - cardinality(ids), v_keyed, p_now
            );
            held_back := v_got.held_back;
            v_in_order := false;
        elsif cardinality(v_level.lines) = 1 then
            select * into v_got from rolecall.claim_from_line(
                v_level.lines[1], p_claimant, p_limit - cardinality(ids), v_keyed, p_now
            );
        else
            select * into v_got from rolecall.pick_from_level(
                v_level.lines, p_claimant, p_limit - cardinality(ids), v_keyed, p_now
            );
            v_in_order := false;
        end if;
        ids := ids || v_got.ids;
        v_keyed := v_keyed || v_got.keyed;
        slots := slots || v_got.slots;
        exit when held_back or cardinality(ids) >= p_limit;
    end loop;
    if cardinality(ids) > 1 and (cardinality(v_keyed) > 0 or not v_in_order) then
        select array_agg(picked.id order by line.priority desc, task.scheduled_for, picked.id),
            array_agg(picked.slot order by line.priority desc, task.scheduled_for, picked.id)
        into ids, slots
        from unnest(ids, slots) as picked (id, slot)
        cross join lateral (
            select one.line_id, one.scheduled_for from rolecall.tasks as one where one.id = picked.id offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id;
    end if;
    return next;
end
$$;
CREATE FUNCTION rolecall.claim(p_worker_id bigint, p_roles text[], p_handlers text[], p_limit integer, p_start integer DEFAULT NULL::integer) RETURNS TABLE(id bigint, fence integer, attempt integer, max_attempts integer, role text, handler text, priority integer, payload jsonb, key text, chain_id bigint, chain_index integer, scheduled_for timestamp with time zone, created_at timestamp with time zone, lease_seconds double precision, timeout_seconds double precision, step integer, parent_id bigint, last_error text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_picked record;
begin
    perform rolecall.require_read_committed();
    select * into v_picked from rolecall.choose_tasks(
        (p_worker_id, p_roles, p_handlers, false)::rolecall.claimant, p_limit, coalesce(p_start, p_limit), v_now
    );
    -- For whoever has slots free only later: there may be more than this answer shows.
    perform set_config('rolecall.held_back', v_picked.held_back::text, true);
    if cardinality(v_picked.ids) = 0 then
        return;
    end if;
    return query
    with claimed as (
        update rolecall.tasks as task
        set state = 'running', parked = false, worker_id = p_worker_id, fence = task.fence + 1, attempt = task.attempt + 1,
            claimed_at = v_now, lease_until = v_now + least(setting.lease, coalesce(task.timeout, setting.timeout)),
            deadline_at = v_now + coalesce(task.timeout, setting.timeout),
            started_at = case when p_start is null or picked.n <= p_start or setting.never_ahead then v_now end,
            key_slot = coalesce(task.key_slot, picked.slot)
        from unnest(v_picked.ids, v_picked.slots) with ordinality as picked (id, slot, n), rolecall.line_settings as setting
        where task.id = picked.id and setting.line_id = task.line_id
        returning task.*, setting.role, setting.handler, setting.priority, setting.lease,
            coalesce(task.timeout, setting.timeout) as bound
    ),
    durable as materialized (
        -- A crash of the server must not undo who holds a key, or that a last attempt began: somebody else would begin beside it.
        select rolecall.require_durability() from claimed
        where claimed.key is not null or claimed.attempt >= claimed.max_attempts
        limit 1
    )
    select
        claimed.id, claimed.fence, claimed.attempt, claimed.max_attempts, claimed.role, claimed.handler,
        claimed.priority::int, claimed.payload, claimed.key, claimed.chain_id, claimed.chain_index,
        claimed.scheduled_for, claimed.created_at,
        extract(epoch from claimed.lease)::float8, extract(epoch from claimed.bound)::float8,
        coalesce(claimed.step_number, claimed.step, 0), claimed.parent_id, claimed.error
    from claimed
    left join durable on true
    order by claimed.priority desc, claimed.scheduled_for, claimed.id;
end
$$;
CREATE FUNCTION rolecall.claim_for_drain(p_worker_id bigint, p_role text) RETURNS TABLE(id bigint, fence integer)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_roles text[] := array_remove(array[p_role], null);
    v_handlers text[] := array(select name from rolecall.procedures);
    v_turn int;
begin
    if exists (select from rolecall.workers where workers.id = p_worker_id and workers.command is not null) then
        return;
    end if;
    for v_turn in 1..2 loop
        return query
        select claimed.id, claimed.fence from rolecall.claim(p_worker_id, v_roles, v_handlers, 1) as claimed;
        exit when found;
        -- A drain may end only when there is nothing below the session's floors either: a parent that goes on, for one.
        perform set_config('rolecall.floor_' || line.id, '', false) from rolecall.lines as line;
    end loop;
    update rolecall.workers as worker
    set heartbeat_at = rolecall.clock()
    where worker.id = p_worker_id and worker.heartbeat_at < rolecall.clock() - interval '10 s';
end
$$;
CREATE FUNCTION rolecall.claim_from_line(p_line_id integer, p_claimant rolecall.claimant, p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], slots smallint[], keyed bigint[])
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
        from rolecall.walk_line(p_line_id, p_claimant, v_floor, p_limit, p_taken, p_now) as walk;
    end if;
    if ids is null or (cardinality(ids) = 0 and v_floor.look_below_at < v_began + interval '1 s') then
        v_floor := rolecall.look_below(p_line_id, p_now);
        select walk.ids, walk.keyed, walk.slots, (walk.reached).scheduled_for, (walk.reached).id
        into ids, keyed, slots, v_reached.scheduled_for, v_reached.id
        from rolecall.walk_line(p_line_id, p_claimant, v_floor, p_limit, p_taken, p_now) as walk;
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
CREATE FUNCTION rolecall.close_session(p_digest bytea) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_durability();
    delete from rolecall.sessions where digest = p_digest;
    return found;
end
$$;
CREATE FUNCTION rolecall.command_worker(p_worker_id bigint, p_command text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    update rolecall.workers
    set command = p_command,
        commanded_at = case when p_command = command then commanded_at when p_command is not null then rolecall.clock() end
    where id = p_worker_id and stopped_at is null;
    if not found then
        perform rolecall.refuse('RC030', format('no worker %s is on the roll', p_worker_id));
    end if;
    perform rolecall.notify('rolecall_command', p_worker_id::text);
end
$$;
CREATE FUNCTION rolecall.complete_by_token(p_token text, p_result jsonb DEFAULT NULL::jsonb, p_next jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.use_token(p_token, jsonb_build_object('state', 'completed', 'result', p_result, 'next', p_next))
$$;
CREATE FUNCTION rolecall.complete_chain(p_chain_id bigint, p_result jsonb DEFAULT NULL::jsonb, p_next jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_outcome text;
begin
    -- A task that has ended before its turn may have been continued: the next one is the chain's end now.
    loop
        v_outcome := rolecall.complete_task(
            coalesce(rolecall.open_end_of_chain(p_chain_id), p_chain_id), p_result, p_next
        );
        exit when v_outcome <> 'finished' or rolecall.open_end_of_chain(p_chain_id) is null;
    end loop;
    return v_outcome;
end
$$;
CREATE FUNCTION rolecall.complete_task(p_id bigint, p_result jsonb DEFAULT NULL::jsonb, p_next jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select ended.outcome
    from rolecall.end_from_outside(jsonb_build_array(
        jsonb_build_object('id', p_id, 'state', 'completed', 'result', p_result, 'next', p_next)
    )) as ended
$$;
CREATE FUNCTION rolecall.complete_tasks(p_worker_id bigint, p_reports jsonb, p_now timestamp with time zone) RETURNS TABLE(ids bigint[], keys text[], endings rolecall.ending[], next_tasks jsonb)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with report as materialized (
        select * from jsonb_to_recordset(p_reports) as given (
            id bigint, fence int, outcome text, result jsonb, ran float8, next jsonb
        )
        where outcome = 'completed'
        order by id
    ),
    done as (
        delete from rolecall.tasks as task
        using report
        -- The worker is compared in a form that no index serves: each row is to be found by its id.
        where task.id = report.id and task.fence = report.fence and (task.worker_id = p_worker_id) is true
            -- Who has had children, of whichever kind, is judged by how they ended.
            and task.open_children is null and task.serial is null and nullif(report.next -> 'children', 'null') is null
            and (task.cancel_requested_at is null or (report.next ?| '{continuation,siblings}') is not true)
        returning task.*, report.result as last_result, report.ran, report.next,
            nullif(report.next -> 'continuation', 'null') is not null as continued
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, result,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at,
            coalesce(greatest(p_now - make_interval(secs => ran), claimed_at), started_at), p_now, worker_id, line_id,
            fence, attempt, max_attempts, 'completed', key, dedupe_key, payload, retry,
            coalesce(children_info || coalesce(info, '{}'), info), coalesce(last_result, result),
            origin_id, parent_id, parent_fence, depth, on_failure, nullif(continued, false), dedupe_pending, timeout
        from done
    )
    select
        coalesce(array_agg(id), '{}'),
        array_agg(distinct key) filter (where key is not null),
        array_agg((
            id, 'completed', chain_id, parent_id, depth, on_failure, needed, continued, null
        )::rolecall.ending order by id) filter (where parent_id is not null or needed),
        jsonb_agg(jsonb_build_object(
            'next', next, 'id', id, 'chain_id', chain_id, 'chain_index', chain_index, 'parent_id', parent_id,
            'parent_fence', parent_fence, 'depth', depth, 'priority', (select priority from rolecall.lines where lines.id = line_id),
            'scheduled_for', scheduled_for, 'needed', needed, 'on_failure', on_failure
        ) order by id) filter (where next is not null)
    from done;
end
$$;
CREATE FUNCTION rolecall.conclude(p_endings rolecall.ending[], p_keys text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_new rolecall.ending[] := p_endings;
    v_children rolecall.ending[] := '{}';
    v_needed rolecall.ending[] := '{}';
    v_level int;
    v_keys text[] := p_keys;
    v_more rolecall.ending[];
    v_got record;
begin
    loop
        if cardinality(v_new) > 0 then
            v_children := v_children || array(
                select ending from unnest(v_new) as ending where ending.parent_id is not null and ending.continued is not true
            );
            v_needed := v_needed || array(select ending from unnest(v_new) as ending where ending.needed);
            select * into v_got from rolecall.release_dependents(v_new, true);
            v_more := v_got.endings;
            v_keys := v_keys || v_got.keys;
            select * into v_got from rolecall.end_descendants(v_new);
            v_got.endings := v_more || v_got.endings;
        elsif v_children <> '{}' then
            -- Whoever locks several parents takes the deepest first: no two can wait for each other.
            v_level := (select max(ending.depth) from unnest(v_children) as ending);
            select * into v_got
            from rolecall.settle_parents(array(select ending from unnest(v_children) as ending where ending.depth = v_level));
            v_children := array(select ending from unnest(v_children) as ending where ending.depth < v_level);
        elsif v_needed <> '{}' then
            select * into v_got from rolecall.release_dependents(v_needed, false);
            v_needed := '{}';
        else
            exit;
        end if;
        v_new := v_got.endings;
        v_keys := v_keys || v_got.keys;
    end loop;
    perform rolecall.unpark_heads(v_keys);
end
$$;
CREATE FUNCTION rolecall.count_children(p_parent_id bigint) RETURNS TABLE(state rolecall.task_state, number bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select child.state, count(*)
    from (
        select state from rolecall.tasks where parent_id = p_parent_id
        union all
        select state from rolecall.finished_tasks where parent_id = p_parent_id
    ) as child
    group by child.state
    order by child.state
$$;
CREATE FUNCTION rolecall.count_ended(p_width integer, p_from timestamp with time zone, p_until timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_bounds constant float8[] := rolecall.history_bounds();
begin
    insert into rolecall.history (
        role, width, at, completed, failed, cancelled, longest_wait, longest_run, wait_buckets, wait_counts, run_buckets, run_counts
    )
    with ended as (
        select task.line_id, task.state, date_bin(make_interval(secs => p_width), task.finished_at, 'epoch') as bin,
            -- A first claim and a retry begin to wait when they are due; a parent that goes on, for one, has waited for its children.
            case when task.fence = 1 or task.attempt > 1 then
                date_part('epoch', coalesce(task.started_at, task.claimed_at) - greatest(task.created_at, task.scheduled_for))
            end as waited,
            case when task.worker_id is not null and task.claimed_at is not null then
                date_part('epoch', task.finished_at - task.started_at)
            end as ran
        from rolecall.finished_tasks as task
        where task.finished_at >= p_from and task.finished_at < p_until
    ),
    grouped as (
        select line_id, state, bin, width_bucket(waited, v_bounds) as wait_bucket, width_bucket(ran, v_bounds) as run_bucket,
            count(*) as number, max(waited) as waited, max(ran) as ran
        from ended
        group by 1, 2, 3, 4, 5
    ),
    share as materialized (
        select shown.role, grouped.*
        from grouped
        join rolecall.lines as line on line.id = grouped.line_id
        cross join lateral (values (line.role), ('')) as shown (role)
    ),
    wait as (
        select role, bin, array_agg(bucket order by bucket) as buckets, array_agg(number order by bucket) as counts
        from (
            select role, bin, wait_bucket as bucket, sum(number) as number from share where wait_bucket is not null group by 1, 2, 3
        ) as summed
        group by role, bin
    ),
    run as (
        select role, bin, array_agg(bucket order by bucket) as buckets, array_agg(number order by bucket) as counts
        from (
            select role, bin, run_bucket as bucket, sum(number) as number from share where run_bucket is not null group by 1, 2, 3
        ) as summed
        group by role, bin
    ),
    total as (
        select role, bin, sum(number) filter (where state = 'completed') as completed,
            sum(number) filter (where state = 'failed') as failed, sum(number) filter (where state = 'cancelled') as cancelled,
            max(waited) as waited, max(ran) as ran
        from share
        group by role, bin
    )
    select role, p_width, bin, coalesce(completed, 0), coalesce(failed, 0), coalesce(cancelled, 0), waited, ran,
        coalesce(wait.buckets, '{}'), coalesce(wait.counts, '{}'), coalesce(run.buckets, '{}'), coalesce(run.counts, '{}')
    from total
    left join wait using (role, bin)
    left join run using (role, bin);
end
$$;
CREATE FUNCTION rolecall.count_open(p_width integer, p_at timestamp with time zone, p_now timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    with counted as (
        select line.role, sum(part.ready)::bigint as ready, sum(part.running)::bigint as running
        from rolecall.backlog(p_now) as part
        join rolecall.lines as line on line.id = part.line_id
        group by line.role
        having sum(part.ready + part.running) > 0
    )
    insert into rolecall.history (role, width, at, samples, ready, running)
    select role, p_width, p_at, 1, ready, running from counted
    union all
    select '', p_width, p_at, 1, coalesce(sum(ready), 0)::bigint, coalesce(sum(running), 0)::bigint from counted
    on conflict (role, width, at) do update
    set samples = rolecall.history.samples + 1, ready = rolecall.history.ready + excluded.ready,
        running = rolecall.history.running + excluded.running
$$;
CREATE FUNCTION rolecall.count_retried(p_width integer, p_from timestamp with time zone, p_until timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    insert into rolecall.history (role, width, at, retried)
    select shown.role, p_width, date_bin(make_interval(secs => p_width), event.at, 'epoch'), count(*)
    from rolecall.task_events as event
    left join lateral (select line_id from rolecall.tasks where id = event.task_id limit 1) as open on true
    left join lateral (
        select line_id, state = 'failed' and attempt = event.attempt as by_this
        from rolecall.finished_tasks
        where open.line_id is null and id = event.task_id and finished_at >= p_from
            and finished_at < rolecall.clock() + interval '1 hour'
        limit 1
    ) as ended on true
    join rolecall.lines as line on line.id = coalesce(open.line_id, ended.line_id)
    cross join lateral (values (line.role), ('')) as shown (role)
    where event.at >= p_from and event.at < p_until and event.kind in ('error', 'timeout', 'crashed')
        and ended.by_this is not true
    group by 1, 3
    on conflict (role, width, at) do update set retried = rolecall.history.retried + excluded.retried
$$;
CREATE FUNCTION rolecall.counts() RETURNS TABLE(role text, state text, number bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select line.role, counted.state::text, sum(counted.number)::bigint
    from (
        select line_id, state, count(*) as number from rolecall.tasks group by line_id, state
        union all
        select line_id, state, number from rolecall.finished_counts
        union all
        select line_id, state, number from rolecall.counts_since((select moment from rolecall.counted_until))
    ) as counted
    join rolecall.lines as line on line.id = counted.line_id
    group by line.role, counted.state
    having sum(counted.number) > 0
    order by line.role, counted.state
$$;
CREATE FUNCTION rolecall.counts_since(p_moment timestamp with time zone) RETURNS TABLE(line_id integer, state rolecall.task_state, number bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select finished.line_id, finished.state, count(*)
    from rolecall.finished_tasks as finished
    where finished.finished_at >= p_moment
    group by finished.line_id, finished.state
$$;
CREATE FUNCTION rolecall.create_api_key(p_name text, p_scope rolecall.scope, p_prefix text, p_digest bytea, p_lifetime interval) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.require_durability();
    insert into rolecall.api_keys (name, scope, prefix, digest, created_at, expires_at)
    select p_name, p_scope, p_prefix, p_digest, clock, clock + p_lifetime
    from rolecall.clock() as clock
    returning id
$$;
CREATE FUNCTION rolecall.current_task() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select nullif(current_setting('rolecall.task', true), '')::bigint
$$;
CREATE FUNCTION rolecall.days_to_prune(p_after text, p_now timestamp with time zone) RETURNS TABLE(name text, most interval)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
declare
    v_shortest interval := (select min(least(keep_completed, keep_failed)) from rolecall.roles);
    v_longest interval := (select max(greatest(keep_completed, keep_failed)) from rolecall.roles);
    v_counted_until timestamptz := (select moment from rolecall.counted_until);
begin
    return query
    select part.name, part.most
    from (
        select old.name, day.ends_at, case when day.ends_at >= p_now - v_longest - interval '1 day' then v_longest - interval '1 day' end as most
        from rolecall.old_partitions('rolecall.finished_tasks', ((p_now - v_shortest) at time zone 'utc')::date + 1) as old (name)
        cross join lateral (select (to_date(right(old.name, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'utc' as ends_at) as day
        union all
        select 'finished_tasks_default', 'infinity', null where v_shortest is not null
    ) as part
    where part.name > coalesce(p_after, '') collate "C" and (
        part.ends_at > v_counted_until
        or exists (
            select from rolecall.finished_counts as counted
            join rolecall.lines as line on line.id = counted.line_id
            join rolecall.roles as role on role.name = line.role
            cross join lateral (
                select case counted.state when 'completed' then role.keep_completed else role.keep_failed end as keep
            ) as said
            where counted.day = to_date(right(part.name, 8), 'YYYYMMDD')
                and part.ends_at - interval '1 day' < p_now - said.keep and (said.keep > part.most) is not true
            group by counted.line_id, counted.state
            having sum(counted.number) > 0
        )
    )
    order by part.name collate "C";
end
$$;
CREATE FUNCTION rolecall.declare(p_roles jsonb, p_handlers jsonb DEFAULT '[]'::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.check_declaration(p_roles || p_handlers);
    perform rolecall.check_procedures(p_handlers);
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
    with said as (
        select
            given.name, coalesce(given.role, given.name) as role, coalesce(given.description, '') as description,
            nullif(given.signature, 'null') as signature, make_interval(secs => given.lease) as lease,
            make_interval(secs => given.timeout) as timeout, given.max_attempts, nullif(given.retry, 'null') as retry,
            rolecall.find_procedure(given.procedure, false) as procedure,
            rolecall.find_procedure(given.before, true) as before_procedure,
            rolecall.find_procedure(given.after, true) as after_procedure
        from jsonb_to_record(p_said) as given (
            name text, role text, description text, signature jsonb, lease float8, timeout float8, max_attempts int, retry jsonb,
            procedure text, before text, after text
        )
    ),
    stored as (
        insert into rolecall.handlers as handler (
            name, role, description, signature, lease, timeout, max_attempts, retry, procedure, before_procedure, after_procedure
        )
        select * from said
        where not exists (
            select from rolecall.handlers as known
            where (known.name, known.role, known.description, known.signature, known.lease, known.timeout,
                known.max_attempts, known.retry, known.procedure, known.before_procedure, known.after_procedure)
            is not distinct from (said.name, said.role, said.description, said.signature, said.lease, said.timeout,
                said.max_attempts, said.retry, said.procedure, said.before_procedure, said.after_procedure)
        )
        on conflict (name) do update
        set role = excluded.role, description = excluded.description, signature = excluded.signature, lease = excluded.lease,
            timeout = excluded.timeout, max_attempts = excluded.max_attempts, retry = excluded.retry,
            procedure = excluded.procedure, before_procedure = excluded.before_procedure,
            after_procedure = excluded.after_procedure
        returning procedure
    )
    select rolecall.notify('rolecall_handlers', '') from stored where procedure is not null
$$;
CREATE FUNCTION rolecall.declare_key_capacities(p_capacities jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_new record;
    v_changed text[];
begin
    perform rolecall.require_read_committed();
    perform rolecall.check_key_capacity(said.pattern, coalesce(said.capacity::int, 0))
    from jsonb_each_text(p_capacities) as said (pattern, capacity);
    v_changed := array(
        select said.pattern from jsonb_each_text(p_capacities) as said (pattern, capacity)
        left join rolecall.keys as lock on lock.key = said.pattern
        left join rolecall.key_patterns as pattern on pattern.prefix = rolecall.key_prefix(said.pattern)
        where said.capacity::int is distinct from coalesce(lock.declared, pattern.declared)
        order by said.pattern collate "C"
    );
    if v_changed = '{}' then
        return;
    end if;
    -- All at once, in one order: use_room locks keys that stand before those that the loop has changed.
    perform from rolecall.keys as lock
    where lock.key = any(rolecall.keys_meant(v_changed))
    order by lock.key
    for update;
    for v_new in
        select changed.pattern, rolecall.key_prefix(changed.pattern) as prefix, (p_capacities ->> changed.pattern)::int as capacity
        from unnest(v_changed) as changed (pattern)
    loop
        if v_new.prefix is null then
            perform rolecall.give_key_row(v_new.pattern);
            update rolecall.keys set declared = v_new.capacity where key = v_new.pattern;
        else
            insert into rolecall.key_patterns (prefix, declared) values (v_new.prefix, v_new.capacity)
            on conflict (prefix) do update set declared = excluded.declared;
        end if;
    end loop;
    perform rolecall.use_room(v_changed);
end
$$;
CREATE FUNCTION rolecall.declare_procedure(p_name text, p_procedure text, p_role text DEFAULT NULL::text, p_before text DEFAULT NULL::text, p_after text DEFAULT NULL::text, p_description text DEFAULT NULL::text, p_max_attempts integer DEFAULT NULL::integer, p_retry jsonb DEFAULT NULL::jsonb, p_timeout interval DEFAULT NULL::interval, p_lease interval DEFAULT NULL::interval) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.declare('[]', jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'name', p_name, 'procedure', p_procedure, 'role', p_role, 'before', p_before, 'after', p_after,
        'description', p_description, 'max_attempts', p_max_attempts, 'retry', p_retry,
        'timeout', extract(epoch from p_timeout), 'lease', extract(epoch from p_lease)
    ))))
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
            coalesce(make_interval(secs => (p_said ->> 'keep_failed')::float8), role.keep_failed) as keep_failed,
            coalesce((p_said ->> 'one_root')::boolean, role.one_root) as one_root
        from rolecall.roles as role
        where role.name = p_said ->> 'name'
    )
    update rolecall.roles as role
    set description = said.description, lease = said.lease, timeout = said.timeout, max_attempts = said.max_attempts,
        retry = said.retry, max_payload_bytes = said.max_payload_bytes,
        keep_completed = said.keep_completed, keep_failed = said.keep_failed, one_root = said.one_root
    from said
    where role.name = said.name
        and (role.description, role.lease, role.timeout, role.max_attempts, role.retry, role.max_payload_bytes,
            role.keep_completed, role.keep_failed, role.one_root)
        is distinct from (said.description, said.lease, said.timeout, said.max_attempts, said.retry, said.max_payload_bytes,
            said.keep_completed, said.keep_failed, said.one_root);
$$;
CREATE FUNCTION rolecall.dedupe_problem(p_dedupe jsonb, p_dedupe_key text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $_$
    select case
        when p_dedupe_key is null then 'dedupe says how to treat a dedupe_key, but there is none'
        when jsonb_typeof(p_dedupe) <> 'object' then format('dedupe is not an object but %s', jsonb_typeof(p_dedupe))
        when p_dedupe - array['mode', 'scope', 'window', 'merge', 'except_chain'] <> '{}'
            then format('dedupe has mode, scope, window, merge and except_chain, but no %s', (
                select string_agg(key, ', ') from jsonb_object_keys(p_dedupe - array['mode', 'scope', 'window', 'merge', 'except_chain']) as key
            ))
        when p_dedupe ->> 'mode' not in ('keep', 'replace', 'merge', 'error')
            then format('the dedupe mode is %L; it is keep, replace, merge or error', p_dedupe ->> 'mode')
        when p_dedupe ->> 'scope' not in ('pending', 'open', 'any')
            then format('the dedupe scope is %L; it is pending, open or any', p_dedupe ->> 'scope')
        when p_dedupe ->> 'mode' in ('replace', 'merge') and p_dedupe ->> 'scope' <> 'pending'
            then format('%s changes only what nobody has claimed: its scope is pending', p_dedupe ->> 'mode')
        when (coalesce(p_dedupe ->> 'scope', '') = 'any') <> (nullif(p_dedupe -> 'window', 'null') is not null)
            then 'the scope any needs a window, in seconds, and no other scope has one'
        when jsonb_typeof(p_dedupe -> 'window') not in ('number', 'null') or (p_dedupe ->> 'window')::float8 not between 0.001 and 4e9
            then format('the dedupe window is %s s, allowed are 0.001 to 4e9', p_dedupe ->> 'window')
        when p_dedupe ->> 'except_chain' !~ '^[0-9]{1,18}$'
            then format('except_chain is %L, not the id of a chain', p_dedupe ->> 'except_chain')
        when p_dedupe ->> 'merge' is not null and coalesce(p_dedupe ->> 'mode', '') <> 'merge'
            then 'only the mode merge has a rule to merge by'
        when p_dedupe ->> 'merge' is not null then rolecall.merge_problem(p_dedupe -> 'merge')
    end
$_$;
CREATE FUNCTION rolecall.dedupe_scope(p_dedupe jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    select coalesce(p_dedupe ->> 'scope', case when p_dedupe ->> 'mode' in ('replace', 'merge') then 'pending' else 'open' end)
$$;
CREATE FUNCTION rolecall.delete_chains(p_ids bigint[], p_cascade boolean DEFAULT false) RETURNS TABLE(chain_id bigint, tasks integer)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_delete_chains(p_ids, p_cascade);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks are gone again: the next try takes what has come.
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.delete_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_id bigint;
begin
    perform rolecall.require_durability();
    delete from rolecall.schedules where name = p_name and not immutable returning id into v_id;
    if v_id is null then
        perform rolecall.refuse('RC022', format('schedule %s is immutable: it cannot be deleted', p_name))
        from rolecall.schedules where name = p_name;
        return false;
    end if;
    delete from rolecall.schedule_runs where schedule_id = v_id;
    return true;
end
$$;
CREATE FUNCTION rolecall.delete_task(p_id bigint) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_chain bigint := (select task.chain_id from rolecall.all_tasks as task where task.id = p_id);
    v_length int;
    v_gone int;
begin
    if v_chain is null then
        raise exception using errcode = 'RC002', detail = p_id::text, message = format('there is no task %s', p_id);
    end if;
    -- Counted by the deletion itself, under its locks: a chain may go on until then. The error undoes it.
    select sum(gone.tasks), max(gone.tasks) filter (where gone.chain_id = v_chain) into v_gone, v_length
    from rolecall.delete_chains(array[v_chain]) as gone;
    if v_length > 1 then
        raise exception using errcode = 'RC007', detail = format('%s %s', v_chain, p_id),
            message = format('task %s is one of the %s tasks of chain %s: delete the chain', p_id, v_length, v_chain);
    end if;
    return coalesce(v_gone, 0);
end
$$;
CREATE FUNCTION rolecall.delete_tasks(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_known record;
    v_chain bigint;
    v_refused bigint[] := '{}';
begin
    select
        array_agg(found.id) as ids, array_agg(found.chain_id) as chains,
        array_agg(found.id) filter (where found.continued) as continued,
        array(
            select distinct last.chain_id from unnest(array_agg(found.chain_id) filter (where found.continued is not true))
            as last (chain_id) order by last.chain_id desc
        ) as whole
    into v_known
    from unnest(p_ids) as given (id)
    cross join lateral (
        select task.id, task.chain_id, null::boolean as continued from rolecall.tasks as task where task.id = given.id
        union all
        select task.id, task.chain_id, task.continued from rolecall.finished_tasks as task where task.id = given.id
    ) as found;
    begin
        perform rolecall.delete_chains(v_known.whole);
    exception when sqlstate 'RC005' then
        -- The newest first, as it may be what needs an older one.
        foreach v_chain in array v_known.whole loop
            begin
                perform rolecall.delete_chains(array[v_chain]);
            exception when sqlstate 'RC005' then
                v_refused := v_refused || v_chain;
            end;
        end loop;
    end;
    return query
    select given.id, case
        when given.id <> all(v_known.ids) is not false then 'missing'
        when given.id = any(v_known.continued) then 'continued'
        when v_known.chains[array_position(v_known.ids, given.id)] = any(v_refused) then 'needed'
        else 'deleted'
    end
    from unnest(p_ids) as given (id);
end
$$;
CREATE FUNCTION rolecall.dependents_of(p_chain_id bigint, p_after bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 50) RETURNS TABLE(task_id bigint, chain_id bigint, role text, handler text, state rolecall.task_state, name text, needed_id bigint, whole_chain boolean, outcome rolecall.task_state)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select need.task_id, task.chain_id, task.role, task.handler, task.state, need.name, need.needed_id, need.whole_chain, need.outcome
    from (
        select distinct on (need.task_id) need.*
        from rolecall.needs as need
        where need.needed_id in (select part.id from rolecall.tasks_of_chain(p_chain_id) as part)
            and need.task_id > coalesce(p_after, 0)
        order by need.task_id, need.outcome is not null, need.position
        limit p_limit
    ) as need
    cross join lateral (
        select task.chain_id, task.role, task.handler, task.state from rolecall.all_tasks as task where task.id = need.task_id offset 0
    ) as task
    order by need.task_id
$$;
CREATE FUNCTION rolecall.deregister_worker(p_worker_id bigint) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_held jsonb;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    update rolecall.workers
    set stopped_at = rolecall.clock(), idle = false, held = 0
    where id = p_worker_id and stopped_at is null;
    perform rolecall.set_idle_mark(p_worker_id, false);
    select jsonb_agg(jsonb_build_object('id', task.id, 'fence', task.fence)) into v_held
    from rolecall.tasks as task
    where task.worker_id = p_worker_id and task.state = 'running';
    perform rolecall.release_claims(p_worker_id, v_held);
    return coalesce(jsonb_array_length(v_held), 0);
end
$$;
CREATE FUNCTION rolecall.drop_day(p_table regclass, p_after text, p_before date, p_held bigint[], p_now timestamp with time zone) RETURNS TABLE(number bigint, place text, in_use boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
declare
    -- Bounds what is moved while the table is locked against everybody.
    v_most_kept constant int := 10000;
    v_wanted bigint[];
begin
    number := 0;
    in_use := false;
    select old.name into place
    from rolecall.old_partitions(p_table, p_before) as old (name)
    where old.name > coalesce(p_after, '') collate "C"
    order by old.name collate "C"
    limit 1;
    if place is null then
        return next;
        return;
    end if;
    if p_table = 'rolecall.task_events'::regclass then
        execute format('drop table rolecall.%I', place);
        number := 1;
        return next;
        return;
    end if;
    -- All that takes long comes before the first lock on a table.
    v_wanted := rolecall.wanted_of_partition(place, p_held, p_now, v_most_kept + 1);
    if cardinality(v_wanted) <= v_most_kept then
        perform rolecall.forget_needs_of_partition(place, v_wanted);
        perform rolecall.drop_partition(place, v_wanted);
        number := 1;
    end if;
    return next;
exception when lock_not_available or deadlock_detected then
    return query select 0::bigint, null::text, true;
end
$$;
CREATE FUNCTION rolecall.drop_partition(p_name text, p_kept bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_day date := to_date(right(p_name, 8), 'YYYYMMDD');
    v_until timestamptz;
begin
    execute format('alter table rolecall.finished_tasks detach partition rolecall.%I', p_name);
    select moment into v_until from rolecall.counted_until for share;
    delete from rolecall.finished_counts where day = v_day;
    if p_kept <> '{}' then
        execute format('insert into rolecall.finished_tasks select * from rolecall.%I where id = any($1)', p_name) using p_kept;
        insert into rolecall.finished_counts (day, line_id, state, number)
        select v_day, line_id, state, count(*)
        from rolecall.finished_tasks_default
        where id = any(p_kept) and (finished_at at time zone 'utc')::date = v_day and finished_at < v_until
        group by line_id, state;
    end if;
    execute format('drop table rolecall.%I', p_name);
end
$_$;
CREATE FUNCTION rolecall.due_by_hour(p_role text, p_hours integer) RETURNS TABLE(hour integer, number bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with moment as materialized (
        select rolecall.clock() as now
    )
    select floor(extract(epoch from task.scheduled_for - moment.now) / 3600)::int as hour, count(*)
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    cross join moment
    where line.role = p_role and task.state = 'pending' and task.scheduled_for > moment.now
        and task.scheduled_for < moment.now + make_interval(hours => p_hours)
    group by 1
    order by 1
$$;
CREATE FUNCTION rolecall.due_cron(p_limit integer DEFAULT 100) RETURNS TABLE(id bigint, name text, cron text, zone text, revision integer, next_run_at timestamp with time zone, present timestamp with time zone)
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select due.id, due.name, due.cron, due.zone, due.revision, due.next_run_at, moment.present
    from rolecall.schedules as due
    cross join (select rolecall.clock() as present) as moment
    where due.enabled and due.cron is not null and due.next_run_at <= moment.present
    order by due.next_run_at, due.id
    limit p_limit
$$;
CREATE FUNCTION rolecall.edge_problem(p_timeout double precision, p_on_failure text, p_needs jsonb) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    select case
        when p_timeout not between 0.001 and 4e9
            then format('the timeout is %s s, allowed are 0.001 to 4e9', p_timeout)
        when p_on_failure not in ('fail_parent', 'ignore', 'cancel_siblings')
            then format('on_failure is %L; a child says fail_parent, ignore or cancel_siblings', p_on_failure)
        when p_needs is not null then rolecall.needs_problem(p_needs)
    end
$$;
CREATE FUNCTION rolecall.end_descendants(p_endings rolecall.ending[]) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_orphans bigint[];
    v_siblings bigint[];
begin
    v_orphans := array(
        select child.id
        from unnest(p_endings) as ending
        join rolecall.tasks as child on child.parent_id = ending.id
        where ending.open_children is not null and ending.state = 'failed'
    );
    v_siblings := array(
        select distinct child.id
        from unnest(p_endings) as ending
        join rolecall.tasks as child on child.parent_id = case when ending.state = 'cancelled' then ending.id else ending.parent_id end
        where (ending.open_children is not null and ending.state = 'cancelled')
            or (ending.on_failure = 'cancel_siblings' and ending.state <> 'completed')
    );
    if cardinality(v_orphans || v_siblings) = 0 then
        return;
    end if;
    -- With all below them: whoever ends one of those waits for its parent.
    perform rolecall.hold_tasks(rolecall.with_open_descendants(v_orphans || v_siblings));
    perform rolecall.request_cancellation(v_orphans || v_siblings);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', task.id) || case
            when task.id = any(v_orphans) then '{"state": "failed", "error": "Parent task failed"}'::jsonb
            else '{"state": "cancelled"}'
        end)
        from rolecall.tasks as task
        where task.id = any(v_orphans || v_siblings) and task.state <> 'running'
    ));
end
$$;
CREATE FUNCTION rolecall.end_from_outside(p_ends jsonb) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    perform rolecall.check_ends(p_ends);
    loop
        begin
            return query select * from rolecall.try_to_end(p_ends);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks are gone again: the next try takes what has come.
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.end_pauses() RETURNS TABLE(role text, paused_at timestamp with time zone, paused_for interval, paused_by text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
#variable_conflict use_column
begin
    for role, paused_at, paused_for, paused_by in
        select ended.name, ended.paused_at, ended.paused_until - ended.paused_at, ended.paused_by
        from rolecall.roles as ended
        where ended.paused_until <= rolecall.clock()
        order by ended.name
        for update skip locked
    loop
        update rolecall.roles as ended set paused_at = null, paused_until = null, paused_by = null where ended.name = role;
        perform rolecall.wake(array[role]);
        return next;
    end loop;
end
$$;
CREATE FUNCTION rolecall.end_sessions(p_task_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_hanging record;
begin
    for v_hanging in
        select session.pid, session.worker_id, session.task_id
        from rolecall.procedure_sessions() as session
        where session.task_id = any(p_task_ids) or (session.worker_is_gone and not session.is_drain)
    loop
        begin
            perform pg_terminate_backend(v_hanging.pid);
        exception when insufficient_privilege then
            raise warning 'session % hangs in task % of the lost worker %, but belongs to a user whose sessions this one may not end',
                v_hanging.pid, v_hanging.task_id, v_hanging.worker_id;
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.end_tasks(p_ends jsonb) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with given as materialized (
        select * from jsonb_to_recordset(p_ends) as item (
            id bigint, state rolecall.task_state, result jsonb, error text, fence int, outside boolean, continued boolean
        )
    ),
    ended as (
        delete from rolecall.tasks as task
        using given
        where task.id = given.id
        returning task.*, given.state as last_state, given.result as last_result, given.error as last_error,
            coalesce(given.fence, task.fence) as last_fence, given.outside, given.continued
    ),
    moved as (
        insert into rolecall.finished_tasks (
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id,
            fence, attempt, max_attempts, state, key, dedupe_key, payload, retry, info, result, error,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout
        )
        select
            id, chain_id, chain_index, created_at, scheduled_for, claimed_at, started_at, rolecall.clock(),
            case when outside is not true then worker_id end, line_id,
            last_fence, attempt, max_attempts, last_state, key, dedupe_key, payload, retry,
            coalesce(children_info || coalesce(info, '{}'), info),
            case when last_state = 'completed' then coalesce(last_result, result) end,
            case when last_state <> 'completed' then coalesce(last_error, error) end,
            origin_id, parent_id, parent_fence, depth, on_failure, continued, dedupe_pending, timeout
        from ended
    )
    select
        array_agg(distinct key) filter (where key is not null),
        array_agg((
            id, last_state, chain_id, parent_id, depth, on_failure, needed, coalesce(continued, false), open_children
        )::rolecall.ending order by id) filter (where parent_id is not null or needed or open_children is not null)
    from ended;
    perform rolecall.run_after_hooks(array(select (item ->> 'id')::bigint from jsonb_array_elements(p_ends) as item));
end
$$;
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
    AS $_$
begin
    perform rolecall.require_durability();
    if p_tasks @? '$[*] ? (exists (@.needs) || exists (@.dedupe))' then
        return query select * from rolecall.store_beside_others(p_tasks);
    else
        return query select * from rolecall.store_tasks(p_tasks, null);
    end if;
end
$_$;
CREATE FUNCTION rolecall.ensure_schedules(p_schedules jsonb) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_said record;
    v_stored int := 0;
begin
    for v_said in
        select said.document, standing.id is not null as stands
        from jsonb_array_elements(p_schedules) as said (document)
        left join rolecall.schedules as standing on standing.name = said.document ->> 'name'
        where standing.id is null or (standing.edited_at is null and standing.declared <> said.document)
        order by said.document ->> 'name'
    loop
        -- The first run of one that stands is over, or planned.
        perform rolecall.store_schedule(
            case when v_said.stands then v_said.document - 'first_run_at' else v_said.document end, v_said.document
        );
        v_stored := v_stored + 1;
    end loop;
    return v_stored;
end
$$;
CREATE FUNCTION rolecall.expired_claims(p_limit integer, p_silent_for interval) RETURNS SETOF jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_drained bigint[] := array(select session.task_id from rolecall.procedure_sessions() as session where session.is_drain);
begin
    return query
    select jsonb_build_object('id', task.id) || case
        when task.cancel_requested_at is not null then '{"reason": "cancelled"}'
        when task.deadline_at <= v_now then '{"reason": "timeout", "error": "the deadline passed"}'
        else '{"reason": "crashed", "error": "the lease ran out: its worker crashed, hung or lost the database"}'
    end::jsonb
    from rolecall.tasks as task
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    where task.state = 'running' and task.lease_until < v_now and v_up_since + setting.lease < v_now
        and task.lease_until - setting.lease <= v_now - p_silent_for
        and (task.id <> all(v_drained) or task.deadline_at <= v_now)
    -- By chance: what stays locked must not be all that is ever looked at.
    order by random()
    limit p_limit
    for update of task skip locked;
end
$$;
CREATE FUNCTION rolecall.fail_by_token(p_token text, p_error text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.use_token(p_token, jsonb_build_object('state', 'failed', 'error', p_error))
$$;
CREATE FUNCTION rolecall.fail_task(p_id bigint, p_error text DEFAULT NULL::text) RETURNS text
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select ended.outcome
    from rolecall.end_from_outside(jsonb_build_array(
        jsonb_build_object('id', p_id, 'state', 'failed', 'error', p_error)
    )) as ended
$$;
CREATE FUNCTION rolecall.failed_siblings(p_task_id bigint) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select count(*)
    from rolecall.tasks as child
    join rolecall.finished_tasks as sibling
        on sibling.parent_id = child.parent_id and sibling.parent_fence = child.parent_fence
    where child.id = p_task_id and sibling.state <> 'completed'
$$;
CREATE FUNCTION rolecall.failure_text(p_message text, p_detail text, p_hint text, p_context text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $_$
    select left(concat_ws(e'\n',
        p_message,
        'detail: ' || nullif(p_detail, ''),
        'hint: ' || nullif(p_hint, ''),
        'context: ' || nullif(regexp_replace(p_context, '\n[^\n]*rolecall\.call_procedure\(.*$', ''), '')
    ), 8000)
$_$;
CREATE FUNCTION rolecall.find_chains(p_state text DEFAULT NULL::text, p_role text DEFAULT NULL::text, p_handler text DEFAULT NULL::text, p_before bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 50, p_most integer DEFAULT 50000) RETURNS TABLE(ids bigint[], reached bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
    v_lines int[] := coalesce(rolecall.lines_of(p_role, p_handler), array(select line.id from rolecall.lines as line));
    v_state rolecall.task_state := case when p_state in ('failed', 'cancelled') then p_state end;
    v_before bigint := coalesce(p_before, 9223372036854775807);
    v_found refcursor;
    v_one record;
begin
    ids := '{}';
    -- Each source in its own order, so that they are merged by their indexes.
    if p_state is null or p_state = 'completed' then
        open v_found for
            select seen.id, seen.line_id = any(v_lines) and (p_state is null or seen.continued or seen.state = 'completed') as fits,
                p_state is null or seen.continued is not true as sure, row_number() over (order by seen.id desc) as n
            from (select * from (
                    select id, line_id, chain_index, null::rolecall.task_state as state, false as continued from rolecall.tasks
                    union all
                    select id, line_id, chain_index, state, continued from rolecall.finished_tasks
                ) as first where first.id < v_before and first.chain_index = 0 and (p_state is null or first.state is not null)
                order by first.id desc limit p_most
            ) as seen;
    elsif v_state is not null then
        open v_found for
            select seen.begun_as as id, seen.chain_index = 0 as sure, row_number() over (order by seen.begun_as desc) as n,
                seen.state = v_state and seen.continued is not true and (seen.chain_index > 0 or seen.line_id = any(v_lines)) as fits
            from (select * from (
                    (select task.id as begun_as, task.* from rolecall.finished_tasks as task
                    where task.chain_index = 0 and task.state = v_state and task.state <> 'completed' order by task.id desc)
                    union all
                    (select chain_id, task.* from rolecall.finished_tasks as task where task.chain_index > 0
                    -- Its last task comes first, wherever the look ends.
                    order by chain_id desc, chain_index desc)
                ) as last where last.begun_as < v_before order by last.begun_as desc limit p_most
            ) as seen;
    else
        open v_found for
            select last.begun_as as id, (last.chain_index > 0 or last.line_id = any(v_lines)) and (
                    p_state in ('open', last.state::text) or p_state = rolecall.status_of(
                        last.state, last.parked, last.scheduled_for, last.attempt, last.lease_until, last.started_at)
                ) as fits, last.chain_index = 0 as sure, row_number() over (order by last.begun_as desc) as n
            from (
                (select task.id as begun_as, task.* from rolecall.tasks as task where task.chain_index = 0 order by task.id desc)
                union all
                (select task.chain_id, task.* from rolecall.tasks as task where task.chain_index > 0 order by task.chain_id desc)
            ) as last
            where last.begun_as < v_before order by last.begun_as desc limit p_most;
    end if;
    -- One by one, as a page needs few of them, however many there are: a plan for all at once would read them all.
    loop
        fetch v_found into v_one;
        exit when not found or cardinality(ids) > p_limit;
        reached := case when v_one.n = p_most then v_one.id end;
        if v_one.fits and (v_one.sure or rolecall.chain_is_like(v_one.id, p_state, p_role, p_handler)) then
            ids := ids || v_one.id;
        end if;
    end loop;
    reached := case when cardinality(ids) > p_limit then coalesce(ids[p_limit], v_before) else reached end;
    ids := ids[:p_limit];
    return next;
end
$$;
CREATE FUNCTION rolecall.find_ended_twin(p_dedupe_key text, p_since timestamp with time zone, p_but_chains bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
    return (
        select task.id
        from rolecall.finished_tasks as task
        where task.dedupe_key = p_dedupe_key and task.created_at > p_since and task.finished_at > p_since
            and (task.chain_id = any(p_but_chains)) is not true
        order by task.created_at desc, task.id desc
        limit 1
    );
end
$$;
CREATE FUNCTION rolecall.find_finished(p_ids bigint[], p_since timestamp with time zone DEFAULT '-infinity'::timestamp with time zone) RETURNS TABLE(id bigint, chain_id bigint, state rolecall.task_state, worker_id bigint, fence integer, finished_at timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
    v_yesterday timestamptz := date_trunc('day', rolecall.clock(), 'UTC') - interval '1 day';
    v_tomorrow timestamptz := v_yesterday + interval '2 days';
    v_lately timestamptz := greatest(v_yesterday, p_since);
    v_found int;
begin
    return query
    select id, chain_id, state, worker_id, fence, finished_at
    from rolecall.finished_tasks
    where id = any(p_ids) and finished_at >= v_lately and finished_at < v_tomorrow;
    get diagnostics v_found = row_count;
    if v_found < cardinality(array_remove(p_ids, null)) and p_since < v_yesterday then
        return query
        select id, chain_id, state, worker_id, fence, finished_at
        from rolecall.finished_tasks
        where id = any(p_ids) and finished_at >= p_since and (finished_at < v_yesterday or finished_at >= v_tomorrow);
    end if;
end
$$;
CREATE FUNCTION rolecall.find_merger(p_name text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
begin
    return (
        select format('%I.%I', place.nspname, found.proname)
        from pg_catalog.pg_proc as found
        join pg_catalog.pg_namespace as place on place.oid = found.pronamespace
        where found.oid = to_regprocedure(p_name || '(jsonb,jsonb)') and found.prokind = 'f' and not found.proretset
            and found.prorettype = 'jsonb'::regtype
            and (rolecall.is_owners_session() or found.proowner = current_user::regrole)
    );
exception when invalid_name or syntax_error then
    -- Before Postgres 16 what cannot be a name is an error, not just the name of nothing.
    return null;
end
$$;
CREATE FUNCTION rolecall.find_or_add_line(p_role text, p_handler text, p_priority integer, p_never_ahead boolean, p_misfit_for text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_id int;
begin
    select min(id) into v_id
    from rolecall.lines
    where role = p_role and handler = p_handler and priority = p_priority
        and never_ahead = p_never_ahead and misfit_for = p_misfit_for;
    if v_id is null then
        insert into rolecall.lines (role, handler, priority, never_ahead, misfit_for)
        values (p_role, p_handler, p_priority, p_never_ahead, p_misfit_for)
        returning id into v_id;
    end if;
    return v_id;
end
$$;
CREATE FUNCTION rolecall.find_or_insert(p_task jsonb, p_n bigint, p_place rolecall.place) RETURNS TABLE(id bigint, stood boolean, needy jsonb)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_dedupe_key text := rolecall.full_dedupe_key(p_task);
    v_dedupe jsonb := nullif(p_task -> 'dedupe', 'null');
    v_mode text := coalesce(v_dedupe ->> 'mode', 'keep');
    v_inserted record;
begin
    -- Each turn of the loop is decided by another session's commit in between; it ends with the first quiet moment.
    loop
        id := rolecall.find_twin(v_dedupe_key, v_dedupe, p_place);
        stood := id is not null;
        if not stood then
            select * into v_inserted from rolecall.insert_tasks(jsonb_build_array(p_task), array[p_place], '{}');
            id := v_inserted.ids[1];
            needy := v_inserted.needy;
            exit when v_inserted.refused is null;
        elsif v_mode = 'error' then
            perform rolecall.refuse_twin(p_n, p_task ->> 'dedupe_key', id);
        else
            exit when case v_mode when 'keep' then rolecall.keep_twin(id, v_dedupe) else rolecall.refresh_twin(id, p_task, p_place) end;
        end if;
    end loop;
    return next;
end
$$;
CREATE FUNCTION rolecall.find_procedure(p_name text, p_is_hook boolean) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select format('%I.%I', place.nspname, found.proname)
    from pg_catalog.pg_proc as found
    join pg_catalog.pg_namespace as place on place.oid = found.pronamespace
    where p_name in (format('%I.%I', place.nspname, found.proname), format('%s.%s', place.nspname, found.proname))
        and found.prokind = 'p' and oidvectortypes(found.proargtypes) = case when p_is_hook then 'jsonb' else 'jsonb, jsonb' end
        and (rolecall.is_owners_session() or found.proowner = current_user::regrole)
        and found.proargmodes is not distinct from case when not p_is_hook then '{i,b}'::"char"[] end
$$;
CREATE FUNCTION rolecall.find_tasks(p_filter jsonb, p_before bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 50) RETURNS TABLE(ids bigint[], reached bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v rolecall.task_filter := jsonb_populate_record(null::rolecall.task_filter, p_filter);
    v_most int := case when v.text is null then 50000 else 5000 end;
    v_text text := lower(v.text);
    v_lines int[] := rolecall.lines_of(v.role, v.handler);
    v_worded int[] := array(select line.id from rolecall.lines as line where strpos(lower(line.handler), v_text) > 0);
    v_few rolecall.task_state := case when v.state in ('blocked', 'waiting', 'running', 'failed', 'cancelled') then v.state
        when v.state in ('claimed', 'stale') then 'running' end;
    v_finished boolean := v.state is null or v.state in ('completed', 'failed', 'cancelled');
    v_open boolean := num_nonnulls(v.finished_from, v.finished_to) = 0 and (v.state is null or not v_finished);
    -- Whole days, so that nothing is passed over in silence within one.
    v_from timestamptz := coalesce(date_trunc('day', greatest(v.created_from, v.finished_from), 'UTC'), '-infinity');
    v_to timestamptz := coalesce(date_trunc('day', v.finished_to, 'UTC') + interval '1 day', 'infinity');
    v_ids bigint[] := coalesce(v.ids, case when v.chain_id > 0 then array(select id from rolecall.tasks_of_chain(v.chain_id)) end);
    v_keyed bigint[] := case when v.key <> '' then rolecall.open_tasks_with_key(v.key) end;
    v_span record := rolecall.id_span(v.created_from, v.created_to, p_before);
begin
    select coalesce(array_agg(page.id order by page.id desc) filter (where page.fits), '{}'), min(page.id) filter (where page.n = v_most)
    into ids, reached
    from (
        select numbered.id, numbered.n, numbered.fits
        from (
            select seen.id, row_number() over (order by seen.id desc) as n, coalesce(
                (v_lines is null or seen.line_id = any(v_lines)) and (v.worker_id is null or seen.worker_id = v.worker_id)
                and (v.chain_id is null or seen.chain_id = v.chain_id) and (v.roots is not true or seen.parent_id is null)
                and (v.created_from is null or seen.created_at >= v.created_from)
                and (v.created_to is null or seen.created_at < v.created_to)
                and (v.finished_from is null or seen.finished_at >= v.finished_from)
                and (v.finished_to is null or seen.finished_at < v.finished_to)
                and (v.state is null or v.state = seen.state::text or v.state = rolecall.status_of(
                    seen.state, seen.parked, seen.scheduled_for, seen.attempt, seen.lease_until, seen.started_at))
                and (v.text is null or seen.line_id = any(v_worded) or strpos(lower(concat_ws(' ', seen.key, seen.dedupe_key,
                    seen.error, case when pg_column_size(seen.payload) <= 8192 then seen.payload::text end)), v_text) > 0),
                false) as fits
            from (
                -- All conditions stand outside of the union, as inside they would keep it from being merged by the indexes.
                select * from (
                    select id, line_id, worker_id, chain_id, parent_id, state, created_at, null::timestamptz as finished_at,
                        true as open, parked, scheduled_for, attempt, lease_until, started_at, key, dedupe_key, error, payload
                    from rolecall.tasks
                    union all
                    select id, line_id, worker_id, chain_id, parent_id, state, created_at, finished_at,
                        false, false, scheduled_for, attempt, null, started_at, key, dedupe_key, error, payload
                    from rolecall.finished_tasks
                ) as either
                where id >= v_span.low and id < v_span.high and (v_ids is null or id = any(v_ids))
                    and ((open and v_open) or (not open and v_finished and finished_at >= v_from and finished_at < v_to))
                    and (v.key is null or (open and id = any(v_keyed)) or (not open and key = v.key))
                    and (v.parent_id is null or parent_id = v.parent_id) and (v_few is null or state = v_few)
                order by id desc
                limit v_most
            ) as seen
        ) as numbered
        where numbered.fits or numbered.n = v_most
        order by numbered.id desc
        limit p_limit + 1
    ) as page;
    reached := coalesce(case when cardinality(ids) > p_limit then ids[p_limit] end, reached);
    ids := ids[:p_limit];
    return next;
end
$$;
CREATE FUNCTION rolecall.find_twin(p_dedupe_key text, p_dedupe jsonb, p_place rolecall.place) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_scope text := rolecall.dedupe_scope(p_dedupe);
    v_except bigint := (p_dedupe ->> 'except_chain')::bigint;
    v_id bigint;
begin
    -- No max: it would be looked for from the newest id on, down a million others.
    select (array_agg(task.id order by task.id desc))[1] into v_id
    from (
        select id, fence, chain_id from rolecall.tasks where dedupe_key = p_dedupe_key and dedupe_pending is not true
        union all
        select id, fence, chain_id from rolecall.tasks where dedupe_key = p_dedupe_key and dedupe_pending
    ) as task
    where task.fence = 0 or (v_scope <> 'pending' and task.chain_id is distinct from v_except);
    if v_id is null and v_scope = 'any' then
        v_id := rolecall.find_ended_twin(p_dedupe_key, rolecall.clock() - make_interval(secs => (p_dedupe ->> 'window')::float8), array[
            v_except, (select origin.chain_id from rolecall.find_finished(array[p_place.origin_id]) as origin limit 1)
        ]);
    end if;
    return v_id;
end
$$;
CREATE FUNCTION rolecall.finish(p_worker_id bigint, p_reports jsonb) RETURNS TABLE(task_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
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
CREATE FUNCTION rolecall.finish_apart(p_worker_id bigint, p_reports jsonb, p_until timestamp with time zone) RETURNS TABLE(task_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '10ms'
    AS $$
begin
    begin
        return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_reports) = 1 or clock_timestamp() > p_until or rolecall.have_one_parent(p_reports) then
        return query select (report -> 'id')::bigint, 'busy' from jsonb_array_elements(p_reports) as report;
    else
        return query
        select apart.task_id, apart.verdict
        from rolecall.halves(p_reports) as half
        cross join lateral rolecall.finish_apart(p_worker_id, half, p_until) as apart;
    end if;
end
$$;
CREATE FUNCTION rolecall.finish_free(p_worker_id bigint, p_reports jsonb, p_apart boolean DEFAULT false) RETURNS TABLE(task_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
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
CREATE FUNCTION rolecall.finish_here(p_worker_id bigint, p_reports jsonb) RETURNS TABLE(task_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    -- Undone with the transaction or the savepoint, and forgotten at its end, as what it tells is.
    v_ended constant bigint[] := coalesce(nullif(current_setting('rolecall.ended_here', true), ''), '{}');
    v_ids bigint[];
    v_verdicts text[];
begin
    select coalesce(array_agg(answer.task_id), '{}'), coalesce(array_agg(answer.verdict), '{}') into v_ids, v_verdicts
    from rolecall.finish(p_worker_id, p_reports) as answer;
    perform set_config('rolecall.ended_here', (v_ended || array(
        select report.id from jsonb_to_recordset(p_reports) as report (id bigint) where report.id <> all(v_ids)
    ))::text, true);
    return query
    select answer.id, answer.verdict
    from unnest(v_ids, v_verdicts) as answer (id, verdict)
    where answer.verdict <> 'already' or answer.id <> all(v_ended);
end
$$;
CREATE FUNCTION rolecall.fire_cron(p_plans jsonb) RETURNS TABLE(schedule text, task_id bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_due record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    for v_due in
        select due as schedule, plan.slots, plan.come, plan.next, plan.error
        from jsonb_to_recordset(p_plans) as plan (
            id bigint, revision int, planned_from timestamptz, slots timestamptz[], come bigint, next timestamptz, error text
        )
        join rolecall.schedules as due on due.id = plan.id and due.revision = plan.revision
            and due.next_run_at = plan.planned_from and due.enabled
        order by due.next_run_at, due.id
        for update of due skip locked
    loop
        continue when not rolecall.make_way(v_due.schedule);
        return query
        select * from rolecall.run_due_slots(
            v_due.schedule, v_due.slots, v_due.come, coalesce(v_due.next, (v_due.schedule).next_run_at)
        );
        if v_due.next is null then
            update rolecall.schedules as stuck
            set enabled = false, last_error = v_due.error, revision = stuck.revision + 1
            where stuck.id = (v_due.schedule).id;
        end if;
    end loop;
end
$$;
CREATE FUNCTION rolecall.fire_schedules(p_limit integer DEFAULT 100) RETURNS TABLE(schedule text, task_id bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_due rolecall.schedules;
    v_passed bigint;
begin
    perform rolecall.require_read_committed();
    for v_due in
        select due.* from rolecall.schedules as due
        where due.enabled and due.every is not null and due.next_run_at <= v_now
        order by due.next_run_at, due.id
        limit p_limit
        for update skip locked
    loop
        perform rolecall.require_durability();
        continue when not rolecall.make_way(v_due);
        v_passed := floor(extract(epoch from v_now - v_due.next_run_at) / extract(epoch from v_due.every));
        return query
        select * from rolecall.run_due_slots(
            v_due,
            array(select v_due.next_run_at + n * v_due.every from generate_series(greatest(0, v_passed - 99), v_passed) as n),
            v_passed + 1,
            v_due.next_run_at + (v_passed + 1) * v_due.every
        );
    end loop;
end
$$;
CREATE FUNCTION rolecall.first_id_since(p_moment timestamp with time zone, p_last bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
    v_low bigint := 0;
    v_high bigint := p_last;
    v_middle bigint;
    v_next record;
begin
    while v_low < v_high loop
        v_middle := (v_low + v_high) / 2;
        select task.id, task.created_at into v_next
        from (
            select open.id, open.created_at from rolecall.tasks as open
            union all
            select finished.id, finished.created_at from rolecall.finished_tasks as finished
        ) as task
        where task.id >= v_middle
        order by task.id
        limit 1;
        if v_next.created_at < p_moment then
            v_low := v_next.id + 1;
        else
            v_high := v_middle;
        end if;
    end loop;
    return v_low;
end
$$;
CREATE FUNCTION rolecall.forget_needs_of_partition(p_name text, p_kept bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
begin
    execute format(
        'delete from rolecall.needs where (task_id, position) in (
            select need.task_id, need.position
            from rolecall.needs as need
            join rolecall.%I as old on old.id = need.task_id
            where old.id <> all($1)
            for update of need skip locked
        )', p_name
    ) using p_kept;
end
$_$;
CREATE FUNCTION rolecall.forget_tasks(p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_workers bigint[];
    v_keys text[];
begin
    -- Finished ones first: one that a retry brings back meanwhile is found among the open ones.
    delete from rolecall.finished_tasks as task where task.id = any(p_ids);
    with gone as (
        delete from rolecall.tasks as task where task.id = any(p_ids) returning task.worker_id, task.key
    )
    select array_agg(gone.worker_id), array_agg(distinct gone.key) filter (where gone.key is not null) into v_workers, v_keys
    from gone;
    delete from rolecall.needs as need where need.task_id = any(p_ids);
    delete from rolecall.task_events as event where event.task_id = any(p_ids);
    delete from rolecall.task_tokens as token where token.task_id = any(p_ids);
    perform rolecall.tell_workers(v_workers);
    perform rolecall.unpark_heads(v_keys);
end
$$;
CREATE FUNCTION rolecall.full_dedupe_key(p_draft jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    select coalesce(p_draft ->> 'handler', p_draft ->> 'role') || '/' || (p_draft ->> 'dedupe_key')
$$;
CREATE FUNCTION rolecall.give_key_row(p_key text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    loop
        perform from rolecall.keys where key = p_key for update;
        exit when found;
        -- The lock that lock_keys tries.
        perform pg_advisory_xact_lock(7246926, hashtext(p_key) & 1023);
        insert into rolecall.keys (key) values (p_key) on conflict do nothing;
    end loop;
end
$$;
CREATE TABLE rolecall.schedules (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    handler text NOT NULL COLLATE pg_catalog."C",
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    key text COLLATE pg_catalog."C",
    every interval,
    enabled boolean DEFAULT true NOT NULL,
    next_run_at timestamp with time zone NOT NULL,
    last_run_at timestamp with time zone,
    last_task_id bigint,
    last_task_count integer,
    last_error text,
    created_at timestamp with time zone NOT NULL,
    cron text,
    zone text DEFAULT 'UTC'::text NOT NULL,
    misfire text DEFAULT 'one'::text NOT NULL,
    overlap text DEFAULT 'queue'::text NOT NULL,
    jitter interval DEFAULT '00:00:00'::interval NOT NULL,
    immutable boolean DEFAULT false NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    declared jsonb,
    edited_at timestamp with time zone,
    CONSTRAINT either_an_interval_or_a_cron_expression CHECK ((num_nonnulls(every, cron) = 1)),
    CONSTRAINT every_is_between_a_second_and_ten_years CHECK (((every >= '00:00:01'::interval) AND (every <= '10 years'::interval))),
    CONSTRAINT jitter_is_at_most_a_day CHECK (((jitter >= '00:00:00'::interval) AND (jitter <= '24:00:00'::interval))),
    CONSTRAINT misfire_is_a_policy CHECK ((misfire = ANY (ARRAY['skip'::text, 'one'::text, 'all'::text]))),
    CONSTRAINT name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT overlap_is_a_policy CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'cancel'::text]))),
    CONSTRAINT payload_is_an_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100)))
);
CREATE FUNCTION rolecall.guard_schedule(p_standing rolecall.schedules, p_amended jsonb, p_declared jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_revision int := (p_amended ->> 'revision')::int;
    v_editable constant text[] := '{name,every,cron,zone,priority,revision}';
begin
    if p_standing.id is null then
        if v_revision > 0 then
            perform rolecall.refuse('RC023', format('schedule %s is gone', p_amended ->> 'name'));
        end if;
    elsif v_revision = 0 then
        perform rolecall.refuse('RC022', format('there is already a schedule %L', p_standing.name));
    elsif v_revision <> p_standing.revision then
        perform rolecall.refuse('RC023', format(
            'schedule %s was changed meanwhile: it has revision %s, not %s', p_standing.name, p_standing.revision, v_revision
        ));
    elsif p_standing.immutable and p_declared is null
        and p_amended - v_editable <> rolecall.schedule_document(p_standing) - v_editable
    then
        perform rolecall.refuse('RC022', format(
            'schedule %s is immutable: only its rhythm and its priority can be changed', p_standing.name
        ));
    end if;
end
$$;
CREATE FUNCTION rolecall.halves(p_list jsonb) RETURNS SETOF jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select jsonb_agg(element order by n)
    from jsonb_array_elements(p_list) with ordinality as item (element, n)
    group by n > jsonb_array_length(p_list) / 2
$$;
CREATE FUNCTION rolecall.hasten(p_task_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if exists (
        select from rolecall.tasks as task
        where task.id = p_task_id and task.state = 'pending' and task.scheduled_for > rolecall.clock()
    ) then
        perform rolecall.trigger(array[p_task_id]);
    end if;
exception when sqlstate 'RC002' or sqlstate 'RC003' then
    -- It was claimed or ended while its lock was waited for.
    null;
end
$$;
CREATE FUNCTION rolecall.have_one_parent(p_documents jsonb) RETURNS boolean
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select count(distinct task.parent_id) = 1 and count(task.parent_id) = count(*)
    from jsonb_array_elements(p_documents) as document
    left join lateral (
        select open.parent_id from rolecall.tasks as open where open.id = (document -> 'id')::bigint offset 0
    ) as task on true
$$;
CREATE FUNCTION rolecall.heads_of_keys(p_keys text[], p_rooms integer[], p_now timestamp with time zone) RETURNS TABLE(key text, id bigint, line_id integer, scheduled_for timestamp with time zone, parked boolean)
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
    with recursive step as (
        select wanted.key, wanted.room, line.line_id
        from unnest(p_keys, p_rooms) as wanted (key, room)
        cross join lateral (
            select task.line_id from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending'
            order by task.line_id
            limit 1
        ) as line
        union all
        select step.key, step.room, line.line_id
        from step
        cross join lateral (
            select task.line_id from rolecall.tasks as task
            where task.key = step.key and task.state = 'pending' and task.line_id > step.line_id
            order by task.line_id
            limit 1
        ) as line
    )
    select step.key, head.id, step.line_id, head.scheduled_for, head.parked
    from step
    cross join lateral (
        select task.id, task.scheduled_for, task.parked
        from rolecall.tasks as task
        where task.key = step.key and task.line_id = step.line_id and task.state = 'pending'
            and task.key_slot is null and task.scheduled_for <= p_now
        order by task.scheduled_for, task.id
        limit step.room
    ) as head
$$;
CREATE FUNCTION rolecall.held_chains() RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
    with recursive held as (
        select task.chain_id, task.parent_id
        from (
            select child.parent_id as id from rolecall.tasks as child where child.parent_id is not null
            union
            select need.needed_id from rolecall.needs as need join rolecall.tasks as dependent on dependent.id = need.task_id
        ) as wanted
        join rolecall.finished_tasks as task on task.id = wanted.id
        union
        select task.chain_id, task.parent_id
        from held
        join rolecall.finished_tasks as task on task.id = held.parent_id
    )
    select coalesce(array_agg(distinct chain_id), '{}') from held
$$;
CREATE FUNCTION rolecall.held_up_by(p_task rolecall.tasks) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select case p_task.state
        when 'blocked' then jsonb_build_object('number', p_task.open_needs, 'first', (
            select jsonb_agg(jsonb_build_object(
                -- Of a chain, the link with which it stands open.
                'id', coalesce((
                    select link.id from rolecall.tasks as link
                    where need.whole_chain and link.chain_id = need.needed_id and link.chain_index > 0
                ), need.needed_id),
                'chain_id', case when need.whole_chain then need.needed_id end
            ) order by need.position)
            from (
                select * from rolecall.needs as open
                where open.task_id = p_task.id and open.outcome is null
                order by open.position
                limit 10
            ) as need
        ))
        when 'waiting' then jsonb_build_object('number', p_task.open_children, 'first', (
            select jsonb_agg(jsonb_build_object('id', child.id) order by child.id)
            from (
                select task.id from rolecall.tasks as task where task.parent_id = p_task.id order by task.id limit 10
            ) as child
        ))
    end
$$;
CREATE FUNCTION rolecall.history(p_role text, p_width integer, p_source integer, p_from timestamp with time zone) RETURNS TABLE(at timestamp with time zone, completed integer, failed integer, cancelled integer, retried integer, ready double precision, running double precision, longest_wait double precision, longest_run double precision, wait_buckets smallint[], wait_counts integer[], run_buckets smallint[], run_counts integer[])
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with told as materialized (
        select bin.*
        from rolecall.history_until
        cross join lateral unnest(array['', p_role]) as asked (role)
        cross join lateral rolecall.history_bins(asked.role, p_width, p_source, p_from, moment) as bin
        where asked.role is not null
    )
    select pool.at, coalesce(own.completed, 0), coalesce(own.failed, 0), coalesce(own.cancelled, 0), coalesce(own.retried, 0),
        coalesce(own.ready, 0)::float8 / nullif(pool.samples, 0), coalesce(own.running, 0)::float8 / nullif(pool.samples, 0),
        own.longest_wait, own.longest_run, own.wait_buckets, own.wait_counts, own.run_buckets, own.run_counts
    from told as pool
    left join told as own on own.at = pool.at and own.role = coalesce(p_role, '')
    where pool.role = ''
    order by pool.at
$$;
CREATE TABLE rolecall.history (
    role text NOT NULL COLLATE pg_catalog."C",
    width integer NOT NULL,
    at timestamp with time zone NOT NULL,
    completed integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    cancelled integer DEFAULT 0 NOT NULL,
    retried integer DEFAULT 0 NOT NULL,
    samples integer DEFAULT 0 NOT NULL,
    ready bigint DEFAULT 0 NOT NULL,
    running bigint DEFAULT 0 NOT NULL,
    longest_wait double precision,
    longest_run double precision,
    wait_buckets smallint[] DEFAULT '{}'::smallint[] NOT NULL,
    wait_counts integer[] DEFAULT '{}'::integer[] NOT NULL,
    run_buckets smallint[] DEFAULT '{}'::smallint[] NOT NULL,
    run_counts integer[] DEFAULT '{}'::integer[] NOT NULL
);
CREATE FUNCTION rolecall.history_bins(p_role text, p_width integer, p_source integer, p_from timestamp with time zone, p_until timestamp with time zone) RETURNS SETOF rolecall.history
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
    with stretch as materialized (
        select tier.width, rolecall.begin_of_bin(tier.width, p_until) as until,
            case when tier.width = p_source then p_from else greatest(p_from, rolecall.begin_of_bin(tier.wider, p_until)) end as since
        from rolecall.history_tiers() as tier
        where tier.width <= p_source
    ),
    part as materialized (
        select told.*, date_bin(make_interval(secs => p_width), told.at, 'epoch') as bin
        from (select name from rolecall.roles union all select '') as known (name)
        cross join stretch
        -- Role by role and width by width: a join would read the whole history.
        cross join lateral (
            select * from rolecall.history as one
            where one.role = known.name and one.width = stretch.width and one.at >= stretch.since and one.at < stretch.until
            offset 0
        ) as told
        where p_role is null or known.name = p_role
    ),
    wait as (
        select role, bin, array_agg(bucket order by bucket) as buckets, array_agg(number order by bucket) as counts
        from (
            select role, bin, bucket, sum(number)::int as number
            from part cross join lateral unnest(wait_buckets, wait_counts) as waited (bucket, number)
            group by role, bin, bucket
        ) as summed
        group by role, bin
    ),
    run as (
        select role, bin, array_agg(bucket order by bucket) as buckets, array_agg(number order by bucket) as counts
        from (
            select role, bin, bucket, sum(number)::int as number
            from part cross join lateral unnest(run_buckets, run_counts) as ran (bucket, number)
            group by role, bin, bucket
        ) as summed
        group by role, bin
    ),
    total as (
        select role, bin, sum(completed)::int as completed, sum(failed)::int as failed, sum(cancelled)::int as cancelled,
            sum(retried)::int as retried, sum(samples)::int as samples, sum(ready)::bigint as ready, sum(running)::bigint as running,
            max(longest_wait) as longest_wait, max(longest_run) as longest_run
        from part
        group by role, bin
    )
    select total.role, p_width, total.bin, completed, failed, cancelled, retried, samples, ready, running, longest_wait, longest_run,
        coalesce(wait.buckets, '{}'), coalesce(wait.counts, '{}'), coalesce(run.buckets, '{}'), coalesce(run.counts, '{}')
    from total
    left join wait using (role, bin)
    left join run using (role, bin)
    order by total.role, total.bin
$$;
CREATE FUNCTION rolecall.history_bounds() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select array_agg(0.001 * power(10::float8, number / 10.0::float8) order by number) from generate_series(0, 94) as number
$$;
CREATE FUNCTION rolecall.history_tiers() RETURNS TABLE(width integer, wider integer, kept interval)
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    values
        (10, 60, interval '2 hours'),
        (60, 600, interval '2 days'),
        (600, 3600, interval '10 days'),
        (3600, null, interval '90 days')
$$;
CREATE FUNCTION rolecall.hold_below(p_above bigint[], p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_all bigint[];
begin
    v_all := p_ids || array(
        select below.id from unnest(rolecall.with_open_descendants(p_above)) as below (id) where below.id <> all(p_above)
    );
    perform rolecall.hold_tasks(v_all);
    if exists (
        select from unnest(rolecall.with_open_descendants(p_above)) as below (id)
        where below.id <> all(p_above) and below.id <> all(v_all)
    ) then
        perform rolecall.refuse('RC090', 'a task came while others were waited for');
    end if;
end
$$;
CREATE FUNCTION rolecall.hold_chain(p_chain_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
declare
    v_id bigint;
begin
    perform rolecall.require_read_committed();
    loop
        v_id := rolecall.open_end_of_chain(p_chain_id);
        exit when v_id is null;
        begin
            if v_id = any(rolecall.hold_trees(array[v_id])) then
                return v_id;
            end if;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
    if not exists (select from rolecall.chains as chain where chain.id = p_chain_id) then
        raise exception using errcode = 'RC006', detail = p_chain_id::text, message = format('there is no chain %s', p_chain_id);
    end if;
    return null;
end
$$;
CREATE FUNCTION rolecall.hold_for_retry(p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_held bigint[];
begin
    loop
        v_held := array(
            select task.id from rolecall.tasks as task
            where task.parent_id = any(p_ids)
                or task.id = any(array(select need.needed_id from rolecall.needs as need where need.task_id = any(p_ids)))
            order by task.id
            for update
        );
        -- A child's chain may have gone on while its last link was waited for.
        exit when not exists (
            select from rolecall.tasks as child where child.parent_id = any(p_ids) and child.id <> all(v_held)
        );
    end loop;
    perform from rolecall.tasks as parent
    where parent.id = any(array(
        select ended.parent_id from rolecall.finished_tasks as ended where ended.id = any(p_ids) and ended.parent_id is not null
    ))
    order by coalesce(parent.depth, 0) desc, parent.id
    for update;
    perform from rolecall.finished_tasks as ended
    where ended.id = any(p_ids) and ended.state in ('failed', 'cancelled')
    order by ended.id
    for update;
end
$$;
CREATE FUNCTION rolecall.hold_in_order(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
    return array(
        select task.id from rolecall.tasks as task
        where task.id = any(p_ids)
        order by case when task.open_children is not null then coalesce(task.depth, 0) end desc nulls first, task.id
        for update
    );
end
$$;
CREATE FUNCTION rolecall.hold_needed(p_drafts jsonb, p_parent_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $_$
declare
    v_needed bigint[] := array(
        select need::numeric::bigint
        from unnest('{$[*].needs[*],$[*].needs[*].task,$[*].needs[*].chain}'::jsonpath[]) as path
        cross join lateral jsonb_path_query(p_drafts, path) as need
        where case when jsonb_typeof(need) = 'number' then need::numeric between 0 and 9e18 else false end
    );
    v_last bigint := (
        select (select max(child.id) from rolecall.tasks as child where child.parent_id = parent.id)
        from rolecall.tasks as parent
        where parent.id = p_parent_id and parent.serial
    );
begin
    perform rolecall.hold_in_order(v_needed || v_last);
end
$_$;
CREATE FUNCTION rolecall.hold_parents(p_worker_id bigint, p_reports jsonb, p_endings rolecall.ending[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_running bigint[];
    v_cancelled bigint[];
begin
    select array_agg(task.id), array_agg(task.id) filter (where task.is_cancelled) into v_running, v_cancelled
    from jsonb_to_recordset(p_reports) as report (id bigint, fence int)
    cross join lateral (
        select owned.id, owned.cancel_requested_at is not null as is_cancelled
        from rolecall.tasks as owned
        where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            and owned.open_children is not null
        offset 0
    ) as task;
    if v_running is not null then
        perform rolecall.hold_tasks(v_running || rolecall.with_open_descendants(v_cancelled) || array(
            select ending.parent_id from unnest(p_endings) as ending where ending.parent_id is not null
        ));
    end if;
end
$$;
CREATE FUNCTION rolecall.hold_tasks(p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_keys text[];
begin
    perform from rolecall.tasks as task
    where task.id = any(p_ids) and (task.state <> 'pending' or task.key is null)
    order by case when task.open_children is not null then coalesce(task.depth, 0) end desc nulls first, task.id
    for update;
    -- Whoever frees a key brings a parked row back under the key's lock, and must not find that row locked.
    v_keys := array(
        select task.key from rolecall.tasks as task
        where task.id = any(p_ids) and task.state = 'pending' and task.key is not null
    );
    -- Nothing is parked for a key that has no row yet, nor can what is held here be.
    perform from rolecall.keys as lock where lock.key = any(v_keys) order by lock.key for update;
    perform from rolecall.tasks as task
    where task.id = any(p_ids) and task.state = 'pending'
    order by task.id
    for update;
end
$$;
CREATE FUNCTION rolecall.hold_trees(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_all bigint[] := rolecall.with_open_descendants(p_ids);
    v_held bigint[];
begin
    perform rolecall.hold_tasks(v_all);
    v_all := rolecall.with_open_descendants(v_all);
    v_held := array(select task.id from rolecall.tasks as task where task.id = any(v_all) for update skip locked);
    if cardinality(v_held) < (select count(*) from rolecall.tasks as task where task.id = any(v_all)) then
        perform rolecall.refuse('RC090', 'a task came or was claimed while others were waited for');
    end if;
    return v_held;
end
$$;
CREATE FUNCTION rolecall.hold_twins(p_tasks jsonb, p_positions bigint[], p_places rolecall.place[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.hold_tasks(array(
        select rolecall.find_twin(rolecall.full_dedupe_key(item.draft), item.draft -> 'dedupe', p_places[item.n])
        from (select n, p_tasks -> (n - 1)::int as draft from unnest(p_positions) as n) as item
        where item.draft -> 'dedupe' ->> 'mode' in ('replace', 'merge')
    ))
$$;
CREATE FUNCTION rolecall.id_span(p_from timestamp with time zone, p_to timestamp with time zone, p_before bigint) RETURNS TABLE(low bigint, high bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
declare
    v_last bigint;
begin
    low := 0;
    high := coalesce(p_before, 9223372036854775807);
    if p_from is null and p_to is null then
        return next;
        return;
    end if;
    v_last := 1 + greatest(
        (select max(task.id) from rolecall.tasks as task), (select max(task.id) from rolecall.finished_tasks as task), 0
    );
    if p_from is not null then
        low := rolecall.first_id_since(p_from - interval '1 minute', v_last);
    end if;
    if p_to is not null then
        high := least(high, rolecall.first_id_since(p_to + interval '1 minute', v_last));
    end if;
    return next;
end
$$;
CREATE FUNCTION rolecall.insert_tasks(p_tasks jsonb, p_places rolecall.place[], p_later bigint[]) RETURNS TABLE(ids bigint[], refused bigint[], needy jsonb)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    with place as materialized (
        select * from unnest(p_places) with ordinality
    ),
    draft as materialized (
        select nextval('rolecall.tasks_id_seq') as id, read.*
        from (select * from rolecall.read_drafts(p_tasks, v_now) order by n) as read
    ),
    placed as materialized (
        select draft.*, place.chain_id, place.chain_index, place.origin_id, place.parent_id, place.parent_fence, place.depth,
            place.needed, coalesce(draft.priority, place.priority, 0) as level,
            case when place.parent_id is null or draft.due > v_now then greatest(draft.due, v_now)
                else coalesce(place.scheduled_for, v_now) end as turn,
            coalesce(draft.on_failure, place.on_failure) as rule,
            -- Never to run twice: it is not to wait where a dying worker would take it along.
            coalesce(draft.max_attempts = 1, false) as never_ahead
        from draft
        left join place on place.ordinality = draft.n
    ),
    line as materialized (
        select wanted.*, (
            select min(line.id) from rolecall.lines as line
            where line.role = wanted.role and line.handler = wanted.handler and line.priority = wanted.level
                and line.never_ahead = wanted.never_ahead and line.misfit_for = '{}'
        ) as id
        from (select distinct role, handler, level, never_ahead from placed) as wanted
    ),
    stored as (
        insert into rolecall.tasks (
            id, chain_id, chain_index, created_at, scheduled_for, line_id, max_attempts, key, dedupe_key, payload, retry,
            timeout, origin_id, parent_id, parent_fence, depth, needed, on_failure, state, open_needs, dedupe_pending
        )
        select
            placed.id, coalesce(placed.chain_id, placed.id), coalesce(placed.chain_index, 0), v_now, placed.turn,
            coalesce(line.id, rolecall.find_or_add_line(placed.role, placed.handler, placed.level, placed.never_ahead, '{}')),
            placed.max_attempts,
            case when placed.one_root and placed.parent_id is null then coalesce(placed.key, 'role:' || placed.role)
                else placed.key end,
            placed.dedupe_key, placed.payload, placed.retry, placed.timeout, placed.origin_id, placed.parent_id,
            placed.parent_fence, placed.depth, placed.needed, placed.rule,
            case when placed.needs is null then 'pending' else 'blocked' end::rolecall.task_state,
            jsonb_array_length(placed.needs),
            case when placed.dedupe is not null then rolecall.stands_beside(placed.dedupe_key, placed.dedupe) end
        from placed
        left join line using (role, handler, level, never_ahead)
        where placed.dedupe_key is null or placed.n <> all(p_later) and case
            when placed.dedupe is not null then rolecall.find_twin(placed.dedupe_key, placed.dedupe, p_places[placed.n]) is null
            -- Not `exists`, which may be answered from a list of all that stand beside a twin.
            else (select true from rolecall.tasks as twin where twin.dedupe_key = placed.dedupe_key and twin.dedupe_pending limit 1) is null
        end
        order by placed.dedupe_key collate "C", placed.n
        on conflict (dedupe_key, coalesce(dedupe_pending, false))
            where dedupe_key is not null and (dedupe_pending is not true or fence = 0) do nothing
        returning tasks.id, tasks.line_id
    )
    select
        array_agg(placed.id order by placed.n),
        array_agg(placed.n order by placed.dedupe_key collate "C", placed.n)
            filter (where placed.dedupe_key is not null and stored.id is null),
        jsonb_agg(jsonb_build_object('id', placed.id, 'needs', placed.needs))
            filter (where placed.needs is not null and stored.id is not null),
        array_agg(coalesce(stored.line_id, line.id)) filter (where placed.turn <= v_now and placed.needs is null)
    into ids, refused, needy, v_lines
    from placed
    left join stored on stored.id = placed.id
    left join line using (role, handler, level, never_ahead);
    perform rolecall.wake_lines(v_lines);
    return next;
end
$$;
CREATE FUNCTION rolecall.is_open(p_id bigint, p_whole_chain boolean) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select exists (select from rolecall.tasks where id = p_id)
        or (p_whole_chain and exists (select from rolecall.tasks where chain_id = p_id and chain_index > 0))
$$;
CREATE FUNCTION rolecall.is_owners_session() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select pg_has_role(session_user, current_user, 'member')
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
CREATE FUNCTION rolecall.is_wanted(p_chain_id bigint, p_parent_id bigint, p_held bigint[], p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with recursive above as (
        select p_chain_id as chain_id, p_parent_id as parent_id
        union
        select task.chain_id, task.parent_id
        from above
        cross join lateral (
            select open.chain_id, open.parent_id from rolecall.tasks as open where open.id = above.parent_id
            union all
            select finished.chain_id, finished.parent_id from rolecall.finished_tasks as finished where finished.id = above.parent_id
        ) as task
    )
    select exists (
        select from above
        where above.chain_id = any(p_held) or rolecall.is_open(above.chain_id, true)
            or (
                select last.finished_at >= p_now - case last.state when 'completed' then role.keep_completed else role.keep_failed end
                from (
                    (
                        select task.finished_at, task.line_id, task.state, 1 as turn
                        from rolecall.finished_tasks as task
                        where task.chain_id = above.chain_id and task.chain_index > 0
                        order by task.chain_index desc
                        limit 1
                    )
                    union all
                    select task.finished_at, task.line_id, task.state, 2
                    from rolecall.finished_tasks as task
                    where task.id = above.chain_id
                ) as last
                join rolecall.lines as line on line.id = last.line_id
                join rolecall.roles as role on role.name = line.role
                order by last.turn
                limit 1
            )
    )
$$;
CREATE FUNCTION rolecall.issue_token(p_task_id bigint, p_ttl interval DEFAULT '7 days'::interval) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    -- Twice 122 random bits.
    v_token text := 'rct_' || encode(sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea), 'hex');
begin
    perform rolecall.require_durability();
    if p_ttl is null or p_ttl <= '0 s' or p_ttl > '10 years' then
        perform rolecall.refuse('RC040', 'a token lives for up to ten years, and more than no time');
    end if;
    if not rolecall.is_open(p_task_id, false) then
        raise exception using errcode = 'RC002', detail = p_task_id::text, message = format('there is no open task %s', p_task_id);
    end if;
    insert into rolecall.task_tokens (digest, task_id, created_at, expires_at)
    values (sha256(v_token::bytea), p_task_id, v_now, v_now + p_ttl);
    return v_token;
end
$$;
CREATE FUNCTION rolecall.judge_loss(p_task rolecall.tasks, p_policy jsonb, p_reason text, p_after double precision, p_final boolean, p_now timestamp with time zone) RETURNS TABLE(spent boolean, next_state rolecall.task_state, due timestamp with time zone)
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    with charge as (
        select case p_reason
            when 'snoozed' then false
            when 'blocked' then false
            when 'returned' then false
            when 'misfit' then coalesce(p_final, false)
            when 'shutdown' then p_task.started_at is not null and (p_task.refunds >= 10 or p_task.max_attempts is not distinct from 1)
            when 'crashed' then p_task.started_at is not null
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
            when p_reason = 'blocked' then 'blocked'
            else 'pending'
        end::rolecall.task_state,
        coalesce(p_now + delay, p_task.scheduled_for)
    from wait
$$;
CREATE FUNCTION rolecall.keep_answer(p_caller text, p_key text, p_digest bytea, p_status integer, p_location text, p_body text) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    insert into rolecall.requests (caller, key, digest, answered_at, status, location, body)
    values (p_caller, p_key, p_digest, rolecall.clock(), p_status, p_location, p_body)
    on conflict (caller, key) do update
    set digest = excluded.digest, answered_at = excluded.answered_at, status = excluded.status,
        location = excluded.location, body = excluded.body
$$;
CREATE FUNCTION rolecall.keep_deeds(p_seconds double precision) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if p_seconds is null or p_seconds not between 86400 and 3.2e9 then
        perform rolecall.refuse('RC041', 'the audit log is kept for a day at least, and for a hundred years at most');
    end if;
    update rolecall.retention set keep = make_interval(secs => p_seconds), next_at = '-infinity' where kind = 'deeds';
end
$$;
CREATE FUNCTION rolecall.keep_twin(p_id bigint, p_dedupe jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if rolecall.dedupe_scope(p_dedupe) <> 'pending' then
        return true;
    end if;
    perform from rolecall.tasks as task where task.id = p_id and task.fence = 0 for share;
    if not found then
        return false;
    end if;
    perform rolecall.wake_lines(array(
        select task.line_id from rolecall.tasks as task
        where task.id = p_id and task.state = 'pending' and task.scheduled_for <= rolecall.clock()
    ));
    return true;
end
$$;
CREATE FUNCTION rolecall.key_capacities(p_after text DEFAULT ''::text, p_limit integer DEFAULT 100) RETURNS TABLE(pattern text, capacity integer, declared integer, set_to integer)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select said.pattern, coalesce(said.capacity, said.declared)::int, said.declared::int, said.capacity::int
    from (
        select lock.key as pattern, lock.capacity, lock.declared
        from rolecall.keys as lock
        where (lock.declared is not null or lock.capacity is not null) and lock.key > p_after
        union all
        select pattern.prefix || '*', pattern.capacity, pattern.declared
        from rolecall.key_patterns as pattern
        where pattern.prefix || '*' > p_after
    ) as said
    order by said.pattern collate "C"
    limit p_limit
$$;
CREATE FUNCTION rolecall.key_prefix(p_pattern text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select case when right(p_pattern, 1) = '*' then left(p_pattern, -1) end
$$;
CREATE FUNCTION rolecall.key_situation(p_task rolecall.tasks, p_most integer, p_now timestamp with time zone) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
    with line as materialized (
        select * from rolecall.rival_lines(p_task.line_id, p_task.scheduled_for, p_task.id, false, p_now)
        where p_task.state = 'pending' and p_task.key_slot is null and p_task.scheduled_for <= p_now
    ),
    holder as materialized (
        select task.id, task.key_slot from rolecall.tasks as task where task.key = p_task.key and task.key_slot is not null
    )
    select jsonb_build_object(
        'capacity', (select room.capacity from rolecall.room_of_keys(array[p_task.key]) as room),
        'used', (select count(*) from holder),
        'holders', array(select holder.id from holder order by holder.key_slot limit 10),
        'better', (
            select count(*)
            from (
                select
                from line
                cross join lateral (
                    select
                    from rolecall.tasks as task
                    where task.key = p_task.key and task.line_id = line.line_id and task.state = 'pending'
                        and task.key_slot is null and task.scheduled_for <= p_now
                        and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                    limit p_most
                ) as before
                limit p_most
            ) as counted
        ),
        'best', array(
            select before.id
            from line
            cross join lateral (
                select task.scheduled_for, task.id
                from rolecall.tasks as task
                where task.key = p_task.key and task.line_id = line.line_id and task.state = 'pending'
                    and task.key_slot is null and task.scheduled_for <= p_now
                    and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                order by task.scheduled_for, task.id
                limit 3
            ) as before
            order by line.priority desc, before.scheduled_for, before.id
            limit 3
        )
    )
    where p_task.key is not null and p_task.key_slot is null
$$;
CREATE FUNCTION rolecall.keys_meant(p_patterns text[]) RETURNS text[]
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select array(
        select pattern from unnest(p_patterns) as pattern where rolecall.key_prefix(pattern) is null
        union
        select holder.key from rolecall.tasks as holder
        where holder.key_slot is not null and exists (
            select from unnest(p_patterns) as pattern where starts_with(holder.key, rolecall.key_prefix(pattern))
        )
    )
$$;
CREATE FUNCTION rolecall.keys_now(p_keys text[], p_most integer DEFAULT 10001) RETURNS TABLE(key text, capacity integer, pattern text, used integer, holders bigint[], waiting integer, later integer)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
    select wanted.key, coalesce(own.capacity, fitting.capacity, 1)::int,
        coalesce(own.key, fitting.prefix || '*'), cardinality(holder.ids), holder.ids[:10], line.waiting, line.later
    from unnest(p_keys) with ordinality as wanted (key, place)
    cross join (select rolecall.clock() as now) as moment
    left join lateral (
        select lock.key, coalesce(lock.capacity, lock.declared) as capacity from rolecall.keys as lock
        where lock.key = wanted.key and coalesce(lock.capacity, lock.declared) is not null
    ) as own on true
    left join lateral rolecall.pattern_of_key(wanted.key) as fitting on true
    cross join lateral (
        select array(
            select task.id from rolecall.tasks as task
            where task.key = wanted.key and task.key_slot is not null
            order by task.key_slot
        ) as ids
    ) as holder
    cross join lateral (
        select count(*) filter (where next.is_due)::int as waiting, count(*) filter (where not next.is_due)::int as later
        from (
            select task.scheduled_for <= moment.now as is_due from rolecall.tasks as task
            where task.key = wanted.key and task.state = 'pending' and task.key_slot is null
            limit p_most
        ) as next
    ) as line
    order by wanted.place
$$;
CREATE FUNCTION rolecall.late_committers() RETURNS TABLE(virtual_id text, user_name name, began timestamp with time zone, prepared boolean, known_as text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_database constant oid := (select database.oid from pg_catalog.pg_database as database where datname = current_database());
    v_ours constant oid[] := array(select oid from pg_catalog.pg_class where relnamespace = 'rolecall'::regnamespace);
    v_told constant oid[] := array['rolecall.finished_tasks'::regclass, 'rolecall.task_events'::regclass];
    v_sessions jsonb;
begin
    -- Within a transaction the server would show the same sessions again.
    perform pg_stat_clear_snapshot();
    -- First the sessions: a lock that is seen was taken before, or in a statement that began later.
    v_sessions := (
        select jsonb_agg(jsonb_build_object(
            'pid', session.pid, 'user_name', session.usename, 'hidden', session.state is null or session.state = 'disabled',
            'running', session.state not like 'idle%', 'began', session.xact_start,
            'asked', greatest(session.xact_start, session.query_start)
        ))
        from pg_catalog.pg_stat_activity as session
        where session.datid = v_database and session.pid <> pg_backend_pid()
            and session.backend_type is distinct from 'autovacuum worker'
            and session.state is distinct from 'idle' and session.state is distinct from 'idle in transaction (aborted)'
    );
    return query
    with lock as materialized (
        select * from pg_catalog.pg_locks
    ),
    held as (
        select lock.pid, lock.virtualtransaction, lock.relation = any(v_told) and lock.mode <> 'AccessShareLock' as writes
        from lock
        where lock.database = v_database and lock.relation = any(v_ours) and (lock.mode <> 'AccessShareLock' or not lock.granted)
    )
    select
        (select max(held.virtualtransaction) from held where held.pid = session.pid), session.user_name,
        case when session.hidden then null when hand.writes then session.began else session.asked end,
        false, 'session ' || session.pid
    from jsonb_to_recordset(v_sessions) as session (
        pid int, user_name name, hidden boolean, running boolean, began timestamptz, asked timestamptz
    )
    cross join lateral (select bool_or(held.writes) as writes from held where held.pid = session.pid) as hand
    where case when session.hidden then hand.writes is not null else hand.writes is true or session.running end
    union all
    select held.virtualtransaction, gone.owner, null, true, 'prepared transaction ' || gone.gid
    from (select distinct virtualtransaction from held where held.pid is null and held.writes) as held
    join lock on lock.pid is null and lock.virtualtransaction = held.virtualtransaction and lock.locktype = 'transactionid'
    join pg_catalog.pg_prepared_xacts as gone on gone.transaction = lock.transactionid;
end
$$;
CREATE FUNCTION rolecall.let_go(p_losses jsonb) RETURNS TABLE(ids bigint[], states rolecall.task_state[], keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_judged jsonb;
    v_end record;
    v_free text[];
    v_lines int[];
begin
    select jsonb_agg(jsonb_build_object(
        'id', task.id, 'attempt', task.attempt, 'worker_id', task.worker_id, 'reason', told.reason,
        'spent', judged.spent, 'state', judged.next_state, 'due', judged.due, 'needs', given.needs,
        'error', coalesce(given.error, task.error, case
            when judged.next_state <> 'failed' then null
            when told.reason = 'shutdown' then 'its worker was stopped, or cut off, while it ran'
            else told.reason
        end), 'detail', given.error,
        'fence', task.fence + (given.reported is not true)::int, 'refund', blameless.so,
        'line_id', case when blameless.so and task.refunds >= 2 and not setting.never_ahead
            then rolecall.find_or_add_line(setting.role, setting.handler, setting.priority, true, setting.misfit_for)
            when told.reason = 'misfit' and judged.next_state = 'pending'
            then rolecall.find_or_add_line(setting.role, setting.handler, setting.priority, setting.never_ahead, array(
                select unnest(setting.misfit_for || given.intake) as one order by one
            ))
            else task.line_id end
    ))
    into v_judged
    from jsonb_to_recordset(p_losses) as given (
        id bigint, reason text, error text, after float8, final boolean, reported boolean, needs jsonb, intake text
    )
    join rolecall.tasks as task on task.id = given.id
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    cross join lateral (
        -- Nobody overstays who has not begun.
        select case when given.reason = 'timeout' and given.reported is not true and task.started_at is null
            then 'crashed' else given.reason end as reason
    ) as told
    cross join lateral rolecall.judge_loss(
        task, setting.retry, told.reason, given.after, coalesce(given.final, false) or told.reason = 'misfit' and (
            -- Whoever has it again, or as the sixth, shows that this would go on for ever.
            given.intake = any(setting.misfit_for) or cardinality(setting.misfit_for) >= 5
        ), v_now
    ) as judged
    cross join lateral (
        select not judged.spent
            and (told.reason = 'crashed' or (told.reason = 'shutdown' and task.started_at is not null)) as so
    ) as blameless;
    select * into v_end
    from rolecall.end_tasks(jsonb_path_query_array(v_judged, '$[*] ? (@.state == "failed" || @.state == "cancelled")'));
    with loss as materialized (
        select * from jsonb_to_recordset(v_judged) as judged (
            id bigint, attempt int, worker_id bigint, reason text, spent boolean, state rolecall.task_state,
            due timestamptz, needs jsonb, error text, detail text, fence int, refund boolean, line_id int
        )
    ),
    back as (
        update rolecall.tasks as task
        set state = loss.state, open_needs = case when loss.state = 'blocked' then jsonb_array_length(loss.needs) end,
            scheduled_for = loss.due, line_id = loss.line_id, fence = loss.fence, attempt = task.attempt - (not loss.spent)::int,
            refunds = task.refunds + loss.refund::int, worker_id = null, claimed_at = null, started_at = null,
            lease_until = null, deadline_at = null, cancel_requested_at = null, key_slot = null, error = loss.error
        from loss
        where task.id = loss.id and loss.state in ('pending', 'blocked')
        returning task.key
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt, worker_id, detail)
        select id, v_now, reason, attempt, worker_id, detail from loss order by id
    )
    select
        array_agg(id), array_agg(state), (select array_agg(distinct key) from back where key is not null),
        array_agg(line_id) filter (where state = 'pending' and due <= v_now)
    into ids, states, v_free, v_lines
    from loss;
    keys := v_end.keys || v_free;
    endings := v_end.endings;
    perform rolecall.wake_lines(v_lines);
    return next;
end
$_$;
CREATE FUNCTION rolecall.line_floor(p_line_id integer) RETURNS rolecall.floor
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select nullif(current_setting('rolecall.floor_' || p_line_id, true), '')::rolecall.floor
$$;
CREATE FUNCTION rolecall.lines_of(p_role text, p_handler text) RETURNS integer[]
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select case when num_nonnulls(p_role, p_handler) > 0 then array(
        select line.id from rolecall.lines as line
        where line.role = coalesce(p_role, line.role) and line.handler = coalesce(p_handler, line.handler)
    ) end
$$;
CREATE FUNCTION rolecall.lines_of_claim(p_line_ids integer[], p_claimant rolecall.claimant, p_now timestamp with time zone) RETURNS TABLE(line_id integer, priority smallint, never_ahead boolean)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select setting.line_id, setting.priority, setting.never_ahead
    from rolecall.line_settings as setting
    where setting.line_id = any(p_line_ids)
        and (p_claimant.roles = '{}' or setting.role = any(p_claimant.roles)) and setting.handler = any(p_claimant.handlers)
        and (not setting.paused or setting.paused_until <= p_now)
        and not (p_claimant.ahead and setting.never_ahead)
        and (setting.misfit_for = '{}' or not setting.misfit_for && coalesce(
            (select worker.intakes from rolecall.workers as worker where worker.id = p_claimant.worker_id), '{}'
        ))
$$;
CREATE FUNCTION rolecall.link_needs(p_needy jsonb, p_batch_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_ids bigint[] := array(select (needy -> 'id')::bigint from jsonb_array_elements(p_needy) as needy);
    v_circle record;
    v_hits jsonb;
    v_failed record;
begin
    perform rolecall.store_needs(p_needy, p_batch_ids);
    perform rolecall.mark_needed(v_ids);
    -- A new task is known only to its parent, to who needs its chain, and to who was stored after it.
    for v_circle in
        select array_agg(waiting.id) as ids, target.id as target
        from rolecall.tasks as waiting
        cross join lateral (
            select case when p_batch_ids is null or waiting.chain_index > 0 then waiting.id else waiting.parent_id end as id
        ) as target
        where waiting.id = any(v_ids) and target.id is not null
        group by target.id
    loop
        perform rolecall.refuse_circle(v_circle.ids, v_circle.target);
    end loop;
    with met as (
        update rolecall.needs as need
        set outcome = rolecall.outcome_of(need.needed_id, need.whole_chain)
        where need.task_id = any(v_ids) and need.outcome is null and not rolecall.is_open(need.needed_id, need.whole_chain)
        returning need.task_id, need.needed_id, need.outcome, need.on_failure
    )
    select jsonb_agg(jsonb_build_object('id', hit.task_id, 'number', hit.number, 'culprit', hit.culprit)) into v_hits
    from (
        select met.task_id, count(*) as number,
            min(met.needed_id) filter (where met.on_failure = 'fail' and met.outcome <> 'completed') as culprit
        from met
        where case when met.outcome is null
            then rolecall.refuse('RC040', format('task %s needs %s, which does not exist', met.task_id, met.needed_id))
            else true
        end
        group by met.task_id
    ) as hit;
    if v_hits is not null then
        select * into v_failed from rolecall.settle_blocked(v_hits);
        perform rolecall.conclude(v_failed.endings, v_failed.keys);
    end if;
end
$$;
CREATE FUNCTION rolecall.status_of(p_state rolecall.task_state, p_parked boolean, p_scheduled_for timestamp with time zone, p_attempt integer, p_lease_until timestamp with time zone, p_started_at timestamp with time zone) RETURNS text
    LANGUAGE sql
    AS $$
    select case
        when p_state = 'pending' and p_parked then 'parked'
        when p_state = 'pending' and p_scheduled_for > rolecall.clock()
            then case when p_attempt > 0 then 'retrying' else 'scheduled' end
        when p_state = 'pending' then 'ready'
        when p_state = 'running' and p_lease_until < rolecall.clock() then 'stale'
        when p_state = 'running' and p_started_at is null then 'claimed'
        else p_state::text
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
    origin_id bigint,
    parent_id bigint,
    parent_fence integer,
    depth smallint,
    on_failure rolecall.child_rule,
    continued boolean,
    dedupe_pending boolean,
    timeout interval,
    CONSTRAINT a_failed_task_says_why CHECK (((state <> 'failed'::rolecall.task_state) OR (error IS NOT NULL))),
    CONSTRAINT only_terminal_states_stand_here CHECK ((state = ANY (ARRAY['completed'::rolecall.task_state, 'failed'::rolecall.task_state, 'cancelled'::rolecall.task_state])))
)
PARTITION BY RANGE (finished_at);
ALTER TABLE ONLY rolecall.finished_tasks REPLICA IDENTITY FULL;
CREATE TABLE rolecall.lines (
    id integer NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    handler text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    never_ahead boolean DEFAULT false NOT NULL,
    misfit_for text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100)))
);
CREATE VIEW rolecall.all_tasks WITH (security_invoker='true') AS
 SELECT task.id,
    task.state,
    rolecall.status_of(task.state, task.parked, task.scheduled_for, task.attempt, task.lease_until, task.started_at) AS status,
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
    NULL::timestamp with time zone AS finished_at,
    task.origin_id,
    task.parent_id,
    COALESCE((task.depth)::integer, 0) AS depth,
    COALESCE(task.open_children, 0) AS open_children,
    COALESCE(task.open_needs, 0) AS open_needs,
    COALESCE(task.step_number, (task.step)::integer, 0) AS step,
    (COALESCE(task.on_failure, 'fail_parent'::rolecall.child_rule))::text AS on_failure,
    (EXTRACT(epoch FROM task.timeout))::double precision AS timeout
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
    task.finished_at,
    task.origin_id,
    task.parent_id,
    COALESCE((task.depth)::integer, 0) AS depth,
    0 AS open_children,
    0 AS open_needs,
    0 AS step,
    (COALESCE(task.on_failure, 'fail_parent'::rolecall.child_rule))::text AS on_failure,
    (EXTRACT(epoch FROM task.timeout))::double precision AS timeout
   FROM (rolecall.finished_tasks task
     JOIN rolecall.lines line ON ((line.id = task.line_id)));
CREATE VIEW rolecall.chains WITH (security_invoker='true') AS
 SELECT first.id,
    line.role,
    line.handler,
    last.state,
    last.status,
    (last.finished_at IS NULL) AS open,
    (last.chain_index + 1) AS length,
    last.id AS last_id,
    last.handler AS last_handler,
    first.payload,
    last.result,
    last.error,
    first.created_at,
    last.finished_at,
    first.origin_id,
    first.parent_id
   FROM (((( SELECT tasks.id,
            tasks.line_id,
            tasks.payload,
            tasks.created_at,
            tasks.origin_id,
            tasks.parent_id,
            false AS continued
           FROM rolecall.tasks
          WHERE (tasks.chain_index = 0)
        UNION ALL
         SELECT finished_tasks.id,
            finished_tasks.line_id,
            finished_tasks.payload,
            finished_tasks.created_at,
            finished_tasks.origin_id,
            finished_tasks.parent_id,
            finished_tasks.continued
           FROM rolecall.finished_tasks
          WHERE (finished_tasks.chain_index = 0)) first
     JOIN rolecall.lines line ON ((line.id = first.line_id)))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN first.continued THEN COALESCE(( SELECT task.id
                       FROM rolecall.tasks task
                      WHERE ((task.chain_id = first.id) AND (task.chain_index > 0))), ( SELECT task.id
                       FROM rolecall.finished_tasks task
                      WHERE ((task.chain_id = first.id) AND (task.chain_index > 0))
                      ORDER BY task.chain_index DESC
                     LIMIT 1), first.id)
                    ELSE first.id
                END AS id
         OFFSET 0) reached)
     CROSS JOIN LATERAL ( SELECT task.id,
            task.state,
            task.status,
            task.role,
            task.handler,
            task.priority,
            task.payload,
            task.result,
            task.info,
            task.error,
            task.key,
            task.dedupe_key,
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
            task.finished_at,
            task.origin_id,
            task.parent_id,
            task.depth,
            task.open_children,
            task.open_needs,
            task.step,
            task.on_failure,
            task.timeout
           FROM rolecall.all_tasks task
          WHERE (task.id = reached.id)
         OFFSET 0) last);
CREATE FUNCTION rolecall.list_chains(p_state text DEFAULT NULL::text, p_role text DEFAULT NULL::text, p_handler text DEFAULT NULL::text, p_before bigint DEFAULT NULL::bigint, p_limit integer DEFAULT 50) RETURNS SETOF rolecall.chains
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select chain.*
    from rolecall.find_chains(p_state, p_role, p_handler, p_before, p_limit, null) as found
    cross join lateral unnest(found.ids) with ordinality as given (id, position)
    -- Each by its id: a join would read all tasks.
    cross join lateral (select * from rolecall.chains as one where one.id = given.id offset 0) as chain
    order by given.position
$$;
CREATE FUNCTION rolecall.live_workers(p_role text, p_handler text, p_now timestamp with time zone) RETURNS TABLE(id bigint, able boolean, slots integer, holds bigint, command text, backing_off text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select worker.id, p_handler = any(worker.handlers), worker.slots, held.number, worker.command, worker.backing_off
    from rolecall.workers as worker
    cross join lateral (
        select count(*) as number from rolecall.tasks as task where task.worker_id = worker.id and task.state = 'running'
    ) as held
    where worker.stopped_at is null and worker.heartbeat_at > p_now - interval '5 min'
        and (worker.roles = '{}' or p_role = any(worker.roles))
    order by worker.id
$$;
CREATE FUNCTION rolecall.lock_claims(p_worker_id bigint, p_reports jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_owned bigint[];
    v_parents bigint[];
    v_above bigint[];
begin
    with owned as materialized (
        select report.id, task.parent_id, task.serial, task.open_children is not null as has_children, outcome.is_bad as fails,
            outcome.is_bad and task.on_failure = 'cancel_siblings' and task.parent_id is not null as cancels
        from jsonb_to_recordset(p_reports) as report (id bigint, fence int, outcome text)
        cross join lateral (
            select owned.parent_id, owned.serial, owned.on_failure, owned.open_children, owned.cancel_requested_at
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            offset 0
        ) as task
        cross join lateral (
            select report.outcome <> 'completed' or task.cancel_requested_at is not null as is_bad
        ) as outcome
    )
    select
        array_agg(owned.id),
        case when bool_or(owned.has_children) then array_agg(owned.parent_id) filter (where owned.parent_id is not null) end
            -- More serial children need the last that stands.
            || array_agg((select max(task.id) from rolecall.tasks as task where task.parent_id = owned.id)) filter (where owned.serial),
        array_agg(case when owned.cancels then owned.parent_id else owned.id end)
            filter (where owned.cancels or (owned.has_children and owned.fails))
    into v_owned, v_parents, v_above
    from owned;
    if v_above is not null or v_parents is not null then
        perform rolecall.hold_below(coalesce(v_above, '{}'), v_owned || v_parents);
    else
        perform from rolecall.tasks as task where task.id = any(v_owned) order by task.id for update;
    end if;
end
$$;
CREATE FUNCTION rolecall.lock_keys(p_keys text[]) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    -- A row that nobody else can see yet needs no other lock.
    v_born text[];
begin
    with missing as materialized (
        select wanted.key from unnest(p_keys) as wanted (key)
        where not exists (select from rolecall.keys as known where known.key = wanted.key)
    ),
    born as (
        insert into rolecall.keys (key)
        select missing.key from missing
        -- Two that insert the same row wait for each other. A thousand numbers keep the locks few; a clash costs one claim's delay.
        where pg_try_advisory_xact_lock(7246926, hashtext(missing.key) & 1023)
        order by missing.key
        on conflict do nothing
        returning key
    )
    select coalesce(array_agg(born.key), '{}') into v_born from born;
    return v_born || array(
        select held.key from rolecall.keys as held
        where held.key = any(array(select unnest(p_keys) except select unnest(v_born)))
        order by held.key
        for update skip locked
    );
end
$$;
CREATE FUNCTION rolecall.look_below(p_line_id integer, p_now timestamp with time zone) RETURNS rolecall.floor
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    v_looked constant text := 'rolecall.look_' || p_line_id;
    v_before constant interval := nullif(current_setting(v_looked, true), '');
    v_began constant timestamptz := clock_timestamp();
    v_took interval;
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
    v_took := clock_timestamp() - v_began;
    v_floor.look_below_at := clock_timestamp() + greatest('50 ms', 19 * least(v_took, coalesce(v_before, '0 s')));
    perform set_config(v_looked, v_took::text, false);
    perform set_config('rolecall.floor_' || p_line_id, v_floor::text, false);
    return v_floor;
end
$$;
CREATE FUNCTION rolecall.lose_tasks(p_worker_id bigint, p_reports jsonb) RETURNS TABLE(ids bigint[], keys text[], endings rolecall.ending[], needy jsonb)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_losses jsonb;
    v_let_go record;
begin
    with owned as (
        select distinct on (report.id) report.*
        from (
            select * from jsonb_to_recordset(p_reports) as given (
                id bigint, fence int, outcome text, reason text, error text, after float8, at timestamptz, final boolean,
                needs jsonb, intake text
            )
            order by given.id
        ) as report
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
        order by report.id
    )
    select jsonb_agg(jsonb_build_object(
        'id', id, 'error', error, 'after', coalesce(after, extract(epoch from at - rolecall.clock())), 'final', final,
        'reported', true, 'needs', needs, 'intake', intake,
        'reason', case outcome when 'failed' then coalesce(reason, 'error') when 'completed' then 'cancelled' else outcome end
    ))
    into v_losses
    from owned;
    select * into v_let_go from rolecall.let_go(v_losses);
    ids := coalesce(v_let_go.ids, '{}');
    keys := v_let_go.keys;
    endings := v_let_go.endings;
    select jsonb_agg(jsonb_build_object('id', gone.id, 'needs', loss -> 'needs')) into needy
    from unnest(v_let_go.ids, v_let_go.states) as gone (id, state)
    join jsonb_array_elements(v_losses) as loss on (loss -> 'id')::bigint = gone.id
    where gone.state = 'blocked';
    return next;
end
$$;
CREATE FUNCTION rolecall.lost_claims(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
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
    v_is_settled text := format(
        'select to_regclass(%L) is not null or exists (select from rolecall.%I where %I >= $1 and %I < $2)',
        'rolecall.' || v_name, p_table || '_default', p_column, p_column
    );
    v_settled boolean;
begin
    execute v_is_settled into v_settled using v_from, v_to;
    if not v_settled then
        -- Rows of that day, or another maker, may be on their way: wait for them, and let none follow.
        execute format('lock table rolecall.%I in access exclusive mode', p_table);
        execute v_is_settled into v_settled using v_from, v_to;
    end if;
    if v_settled then
        return 0;
    end if;
    execute format('create table rolecall.%I partition of rolecall.%I for values from (%L) to (%L)', v_name, p_table, v_from, v_to);
    -- Its parent's is not inherited.
    execute format('alter table rolecall.%I replica identity full', v_name);
    return 1;
end
$_$;
CREATE FUNCTION rolecall.make_partitions(p_days_ahead integer DEFAULT 7) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
declare
    v_tries_left int := 5;
begin
    loop
        begin
            return rolecall.try_to_make_partitions(p_days_ahead);
        exception when lock_not_available or deadlock_detected then
            v_tries_left := v_tries_left - 1;
            if v_tries_left = 0 then
                raise;
            end if;
        end;
        perform pg_sleep(random() + 0.1);
    end loop;
end
$$;
CREATE FUNCTION rolecall.make_way(p_schedule rolecall.schedules) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '10ms'
    AS $$
begin
    if p_schedule.overlap = 'cancel' and rolecall.is_open(p_schedule.last_task_id, true) then
        perform rolecall.try_to_cancel(array[rolecall.open_end_of_chain(p_schedule.last_task_id)]);
    end if;
    return true;
exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
    return false;
end
$$;
CREATE FUNCTION rolecall.mark_idle(p_worker_id bigint, p_idle boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
    if p_idle or not exists (
        select from rolecall.idle_marks as mark
        where mark.worker_id = p_worker_id and mark.until > rolecall.clock() + interval '4 min 59 s'
    ) then
        perform rolecall.set_idle_mark(p_worker_id, p_idle);
    end if;
end
$$;
CREATE FUNCTION rolecall.mark_needed(p_task_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_ids bigint[] := array(select needed_id from rolecall.needs where task_id = any(p_task_ids) and outcome is null);
    v_chains bigint[] := array(
        select needed_id from rolecall.needs where task_id = any(p_task_ids) and outcome is null and whole_chain
    );
    v_held bigint[];
begin
    loop
        v_held := rolecall.hold_in_order(v_ids || array(
            select link.id from rolecall.tasks as link where link.chain_id = any(v_chains) and link.chain_index > 0
        ));
        -- A chain may have gone on while its last link was waited for.
        exit when not exists (
            select from rolecall.tasks as link
            where link.chain_id = any(v_chains) and link.chain_index > 0 and link.id <> all(v_held)
        );
    end loop;
    update rolecall.tasks as task set needed = true where task.id = any(v_held) and task.needed is not true;
    return v_held;
end
$$;
CREATE FUNCTION rolecall.meet_twins(p_tasks jsonb, p_places rolecall.place[], p_positions bigint[], p_ids bigint[]) RETURNS TABLE(ids bigint[], deduplicated bigint[], needy jsonb)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_twin record;
    v_met record;
begin
    ids := p_ids;
    deduplicated := '{}';
    perform rolecall.hold_twins(p_tasks, p_positions, p_places);
    for v_twin in select * from rolecall.plain_twins(p_tasks, p_positions) loop
        if v_twin.id is not null then
            ids[v_twin.n] := v_twin.id;
            deduplicated := deduplicated || v_twin.id;
            continue;
        end if;
        select * into v_met from rolecall.find_or_insert(p_tasks -> (v_twin.n - 1)::int, v_twin.n, p_places[v_twin.n]);
        ids[v_twin.n] := v_met.id;
        needy := coalesce(needy || v_met.needy, needy, v_met.needy);
        if v_met.stood then
            deduplicated := deduplicated || v_met.id;
        end if;
    end loop;
    return next;
end
$$;
CREATE FUNCTION rolecall.merge_field(p_field text, p_rule text, p_old jsonb, p_new jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$
declare
    v_types text := format('%s and %s', jsonb_typeof(p_old), jsonb_typeof(p_new));
begin
    if coalesce(p_old, 'null') = 'null' or coalesce(p_new, 'null') = 'null' then
        return coalesce(nullif(p_new, 'null'), p_old, p_new);
    elsif p_rule = 'union' and v_types = 'array and array' then
        return coalesce((
            select jsonb_agg(once.value order by once.n)
            from (select value, min(n) as n from jsonb_array_elements(p_old || p_new) with ordinality as item (value, n) group by value) as once
        ), '[]');
    elsif p_rule = 'sum' and v_types = 'number and number' then
        return to_jsonb(p_old::numeric + p_new::numeric);
    elsif p_rule in ('max', 'min') and v_types = 'number and number' then
        return case when (p_new::numeric > p_old::numeric) = (p_rule = 'max') then p_new else p_old end;
    elsif p_rule in ('max', 'min') and v_types = 'string and string' then
        return case when (p_new #>> '{}' collate "C" > p_old #>> '{}' collate "C") = (p_rule = 'max') then p_new else p_old end;
    elsif p_rule in ('last', 'keep') then
        return case p_rule when 'last' then p_new else p_old end;
    end if;
    perform rolecall.refuse('RC040', format('field %s cannot be merged: %s of %s', quote_literal(p_field), p_rule, v_types));
end
$$;
CREATE FUNCTION rolecall.merge_payloads(p_old jsonb, p_new jsonb, p_rule jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_merged jsonb;
begin
    if p_rule ? 'function' then
        execute format('select %s($1, $2)', rolecall.find_merger(p_rule ->> 'function')) into v_merged using p_old, p_new;
        if jsonb_typeof(v_merged) is distinct from 'object' then
            perform rolecall.refuse('RC040', format('%s made no object of two payloads', p_rule ->> 'function'));
        end if;
        return v_merged;
    end if;
    select jsonb_object_agg(field.key, rolecall.merge_field(field.key, field.value, p_old -> field.key, p_new -> field.key))
    into v_merged
    from jsonb_each_text(nullif(p_rule -> 'fields', 'null')) as field
    where p_old ? field.key or p_new ? field.key;
    return p_old || p_new || coalesce(v_merged, '{}');
end
$_$;
CREATE FUNCTION rolecall.merge_problem(p_rule jsonb) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select case
        when jsonb_typeof(p_rule) <> 'object' or (select count(*) from jsonb_object_keys(p_rule)) <> 1
            or p_rule not in ('{"kind": "json"}') and not p_rule ?| array['fields', 'function']
            then format('%s is no rule to merge by: it is {"kind": "json"}, {"fields": ...} or {"function": ...}', p_rule)
        when jsonb_typeof(p_rule -> 'fields') <> 'object'
            then format('the fields of a merge are not an object but %s', jsonb_typeof(p_rule -> 'fields'))
        when p_rule ? 'fields' then (
            select format('field %s merges by %s; it is union, sum, max, min, last or keep', quote_literal(field.key), field.value)
            from jsonb_each(p_rule -> 'fields') as field
            where field.value not in ('"union"', '"sum"', '"max"', '"min"', '"last"', '"keep"')
            limit 1
        )
        when p_rule ? 'function' and rolecall.find_merger(p_rule ->> 'function') is null
            then format('there is no function %s(jsonb, jsonb) that returns jsonb; say its schema too', p_rule ->> 'function')
    end
$$;
CREATE FUNCTION rolecall.name_session(p_worker_id bigint, p_id bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select set_config('application_name', format('rolecall:worker:%s:task:%s', p_worker_id, p_id), true),
        set_config('rolecall.task', p_id::text, true)
$$;
CREATE FUNCTION rolecall.needs_among(p_ids bigint[]) RETURNS TABLE(task_id bigint, needed_id bigint, whole_chain boolean, outcome rolecall.task_state)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select need.task_id, need.needed_id, need.whole_chain, need.outcome
    from rolecall.needs as need
    where need.task_id = any(p_ids) and need.needed_id = any(p_ids)
    order by need.task_id, need.position
$$;
CREATE FUNCTION rolecall.needs_of(p_task_id bigint) RETURNS TABLE(name text, needed_id bigint, whole_chain boolean, outcome rolecall.task_state, handler text, result jsonb, error text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select need.name, need.needed_id, need.whole_chain, need.outcome, line.handler, last.result, last.error
    from rolecall.needs as need
    left join lateral (
        select task.line_id, task.result, task.error
        from rolecall.finished_tasks as task
        where task.id = need.needed_id or (need.whole_chain and task.chain_id = need.needed_id and task.chain_index > 0)
        order by task.chain_index desc
        limit 1
    ) as last on need.outcome is not null
    left join rolecall.lines as line on line.id = last.line_id
    where need.task_id = p_task_id
    order by need.position
$$;
CREATE FUNCTION rolecall.needs_of_tasks(p_ids bigint[], p_limit integer DEFAULT 50) RETURNS TABLE(task_id bigint, name text, needed_id bigint, whole_chain boolean, outcome rolecall.task_state, handler text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select need.task_id, need.name, need.needed_id, need.whole_chain, need.outcome, needed.handler
    from (
        select need.* from rolecall.needs as need where need.task_id = any(p_ids) order by need.task_id, need.position limit p_limit
    ) as need
    left join lateral (
        select task.handler from rolecall.all_tasks as task where task.id = need.needed_id limit 1
    ) as needed on true
    order by need.task_id, need.position
$$;
CREATE FUNCTION rolecall.needs_problem(p_needs jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $_$
    select case
        when jsonb_typeof(p_needs) <> 'array' then format('needs is not an array but %s', jsonb_typeof(p_needs))
        when jsonb_array_length(p_needs) > 10000 then 'a task needs at most 10000 others'
        else (
            select format('%s is no need: it is a task''s id, or an object with task, chain or item', need)
            from jsonb_array_elements(p_needs) as need
            where case jsonb_typeof(need)
                when 'number' then need::text !~ '^[0-9]{1,18}$'
                when 'object' then (
                    select count(*) <> 1 or not bool_and(value ~ '^[0-9]{1,18}$') is true
                    from jsonb_each_text(need) as given where given.key in ('task', 'chain', 'item')
                ) or need ->> 'on_failure' not in ('fail', 'ignore')
                else true
            end
            limit 1
        )
    end
$_$;
CREATE FUNCTION rolecall.next_due(p_roles text[], p_handlers text[]) RETURNS double precision
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.next_due_for(null, p_roles, p_handlers)
$$;
CREATE FUNCTION rolecall.next_due_for(p_worker_id bigint, p_roles text[], p_handlers text[]) RETURNS double precision
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select greatest(extract(epoch from min(head.scheduled_for) - rolecall.clock()), case when count(*) > 0 then 0 end)::float8
    from rolecall.lines_of_claim(
        rolecall.open_lines(), (p_worker_id, p_roles, p_handlers, false)::rolecall.claimant, rolecall.clock()
    ) as line
    cross join lateral rolecall.line_floor(line.line_id) as floor
    cross join lateral (
        select task.scheduled_for
        from rolecall.tasks as task
        where task.line_id = line.line_id and task.state = 'pending' and not task.parked
            and task.scheduled_for >= case
                when floor.look_below_at > clock_timestamp() + interval '1 s' then floor.scheduled_for
                else '-infinity'
            end
        order by task.scheduled_for
        limit 1
    ) as head
$$;
CREATE FUNCTION rolecall.next_of_ends(p_ends jsonb) RETURNS jsonb
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select jsonb_agg(jsonb_build_object(
        'next', item.given, 'id', task.id, 'chain_id', task.chain_id, 'chain_index', task.chain_index,
        'parent_id', task.parent_id, 'parent_fence', task.parent_fence, 'depth', task.depth, 'priority', line.priority,
        'scheduled_for', task.scheduled_for, 'needed', task.needed, 'on_failure', task.on_failure
    ) order by task.id)
    from (
        select (doc -> 'id')::bigint as id,
            (select jsonb_object_agg(key, value) from jsonb_each(nullif(doc -> 'next', 'null')) where value <> 'null') as given
        from jsonb_array_elements(p_ends) as doc
    ) as item
    join rolecall.tasks as task on task.id = item.id
    join rolecall.lines as line on line.id = task.line_id
    where item.given is not null
$$;
CREATE FUNCTION rolecall.next_plan(p_standing rolecall.schedules, p_amended jsonb, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select case
        when p_amended ->> 'first_run_at' is not null then (p_amended ->> 'first_run_at')::timestamptz
        when p_standing.id is null then p_now
        when p_amended ? 'cron' and (moved.rhythm or moved.wakes) then
            greatest(p_now, p_standing.last_run_at + interval '1 us')
        when moved.rhythm then greatest(p_now, coalesce(p_standing.last_run_at, p_now) + given.every)
        when moved.wakes and p_standing.next_run_at < p_now then
            p_standing.next_run_at + ceil(extract(epoch from p_now - p_standing.next_run_at) / extract(epoch from given.every)) * given.every
        else p_standing.next_run_at
    end
    from (select make_interval(secs => (p_amended ->> 'every')::float8) as every) as given
    cross join lateral (select
        (given.every, p_amended ->> 'cron') is distinct from (p_standing.every, p_standing.cron)
            or p_standing.cron is not null and coalesce(p_amended ->> 'zone', 'UTC') is distinct from p_standing.zone as rhythm,
        not p_standing.enabled and (p_amended ->> 'enabled')::boolean as wakes
    ) as moved
$$;
CREATE FUNCTION rolecall.note_generated(p_places rolecall.place[], p_ids bigint[], p_deduplicated bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_makers bigint[] := array(
        select coalesce(place.parent_id, place.origin_id) from unnest(p_places) as place where coalesce(place.chain_index, 0) = 0
    );
begin
    -- Most tasks that make others are no schedule's.
    if not exists (select from rolecall.schedule_runs as run where run.task_id = any(v_makers) and run.outcome = 'enqueued') then
        return;
    end if;
    with made as (
        select distinct coalesce(place.parent_id, place.origin_id) as maker, p_ids[place.ordinality::int] as id
        from unnest(p_places) with ordinality as place
        where coalesce(place.chain_index, 0) = 0
    ),
    -- A task that stood before is deduplicated each time that it is met, one that a twin in this batch met is not.
    new as (
        select met.id from unnest(p_ids) as met (id) group by met.id
        having count(*) > (select count(*) from unnest(p_deduplicated) as stood (id) where stood.id = met.id)
    )
    update rolecall.schedule_runs as run
    set generated = run.generated + born.number
    from (select made.maker, count(*) as number from made join new using (id) group by made.maker) as born
    where run.task_id = born.maker and run.outcome = 'enqueued';
end
$$;
CREATE FUNCTION rolecall.notify(p_channel text, p_payload text) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select pg_notify(p_channel, p_payload)
    where coalesce(nullif(current_setting('rolecall.notify', true), '')::boolean, true)
$$;
CREATE FUNCTION rolecall.old_partitions(p_table regclass, p_before date) RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $_$
    select child.relname
    from pg_catalog.pg_inherits as link
    join pg_catalog.pg_class as child on child.oid = link.inhrelid
    where link.inhparent = p_table and child.relname ~ '_[0-9]{8}$' and to_date(right(child.relname, 8), 'YYYYMMDD') < p_before
    order by child.relname
$_$;
CREATE FUNCTION rolecall.one_after_the_other(p_drafts jsonb, p_last_id bigint) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select jsonb_agg(case
        when n = 1 and p_last_id is null then draft
        else draft || jsonb_build_object('needs', jsonb_build_array(
            case when n = 1 then jsonb_build_object('task', p_last_id) else jsonb_build_object('item', n - 2) end
                || '{"on_failure": "ignore"}'
        ) || coalesce(nullif(draft -> 'needs', 'null'), '[]'))
    end order by n)
    from jsonb_array_elements(p_drafts) with ordinality as item (draft, n)
$$;
CREATE FUNCTION rolecall.open_drain(p_role text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if p_role is not null and not exists (select from rolecall.roles where name = p_role) then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    return rolecall.register_worker(
        format('drain-%s', pg_backend_pid()), array_remove(array[p_role], null), array(select name from rolecall.procedures),
        1, null, pg_backend_pid(), 'sql'
    );
end
$$;
CREATE FUNCTION rolecall.open_end_of_chain(p_chain_id bigint) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select coalesce(
        (select id from rolecall.tasks where chain_id = p_chain_id and chain_index > 0),
        (select id from rolecall.tasks where id = p_chain_id and chain_index = 0)
    )
$$;
CREATE FUNCTION rolecall.open_lines() RETURNS integer[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    -- So few are walked as fast as they are listed.
    v_few constant int := 4;
    -- What a step takes, or some of them, and more than that.
    v_quick constant interval := '300 us';
    v_a_step constant interval := '30 us';
    v_began constant timestamptz := clock_timestamp();
    v_all_until constant timestamptz := nullif(current_setting('rolecall.all_lines_until', true), '');
    v_before constant interval := nullif(current_setting('rolecall.open_lines_took', true), '');
    v_took interval;
    v_ids int[];
begin
    if v_began < v_all_until or (select count(*) from (select from rolecall.lines limit v_few + 1) as line) <= v_few then
        return array(select line.id from rolecall.lines as line);
    end if;
    v_ids := array(
        with recursive step as (
            (
                select task.line_id from rolecall.tasks as task
                where task.state = 'pending' and not task.parked
                order by task.line_id
                limit 1
            )
            union all
            select line.line_id
            from step
            cross join lateral (
                select task.line_id from rolecall.tasks as task
                where task.state = 'pending' and not task.parked and task.line_id > step.line_id
                order by task.line_id
                limit 1
            ) as line
        )
        select step.line_id from step
    );
    v_took := clock_timestamp() - v_began;
    if least(v_took, coalesce(v_before, '0 s')) > v_quick + v_a_step * cardinality(v_ids) then
        perform set_config('rolecall.all_lines_until', (clock_timestamp() + 19 * least(v_took, v_before))::text, false);
    end if;
    perform set_config('rolecall.open_lines_took', v_took::text, false);
    return v_ids;
end
$$;
CREATE FUNCTION rolecall.open_load(p_role text, p_now timestamp with time zone) RETURNS TABLE(role text, pending bigint, ready bigint, running bigint, claimed bigint, arrived bigint, waiting_since timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select
        line.role,
        count(*) filter (where state = 'pending'),
        count(*) filter (where state = 'pending' and not parked and scheduled_for <= p_now),
        count(*) filter (where state = 'running'),
        count(*) filter (where claimed_at > p_now - interval '1 hour'),
        count(*) filter (where created_at > p_now - interval '1 hour'),
        min(greatest(created_at, scheduled_for)) filter (where state = 'pending' and scheduled_for <= p_now)
    from rolecall.tasks
    join rolecall.lines as line on line.id = line_id
    where p_role is null or line.role = p_role
    group by line.role
$$;
CREATE FUNCTION rolecall.open_session(p_person_id bigint, p_password_hash text, p_digest bytea, p_name_digest bytea, p_lifetime interval, p_origin text) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_expires_at timestamptz;
begin
    perform rolecall.require_durability();
    update rolecall.people set last_login_at = v_now where id = p_person_id and password_hash = p_password_hash;
    if found then
        insert into rolecall.sessions (digest, person_id, origin, created_at, expires_at)
        values (p_digest, p_person_id, p_origin, v_now, v_now + p_lifetime)
        returning expires_at into v_expires_at;
        delete from rolecall.login_attempts where digest = p_name_digest;
    end if;
    return v_expires_at;
end
$$;
CREATE FUNCTION rolecall.open_tasks_with_key(p_key text) RETURNS bigint[]
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select array(
        select task.id from rolecall.tasks as task where task.key = p_key and task.state = 'pending'
        union
        select task.id from rolecall.tasks as task where task.key = p_key and task.key_slot is not null
        union
        select task.id from rolecall.tasks as task where task.key = p_key and task.state = 'blocked'
    )
$$;
CREATE FUNCTION rolecall.open_tree(p_id bigint) RETURNS TABLE(id bigint, parent_id bigint, depth integer, line_id integer, state rolecall.task_state, info jsonb, children_info jsonb, fence integer, parent_fence integer, is_parent boolean, counting boolean, serial boolean, created_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with recursive open as (
        select task.id, null::bigint as parent_id, 0 as depth, task.line_id, task.state, task.info, task.children_info, task.fence,
            task.parent_fence, task.step, task.open_children, task.serial, task.created_at
        from rolecall.tasks as task
        where task.id = p_id
        union all
        select child.id, open.id, open.depth + 1, child.line_id, child.state, child.info, child.children_info, child.fence,
            child.parent_fence, child.step, child.open_children, child.serial, child.created_at
        from open
        cross join lateral (
            select task.*
            from rolecall.tasks as task
            where task.parent_id = open.id and open.open_children is not null
            offset 0
        ) as child
    )
    select open.id, open.parent_id, open.depth, open.line_id, open.state, open.info, open.children_info, open.fence,
        open.parent_fence, coalesce(open.open_children, open.step) is not null, open.open_children is not null,
        coalesce(open.serial, false), open.created_at
    from open
    union all
    (
        select task.id, null, 0, task.line_id, task.state, task.info, null, task.fence, null, true, false, false, task.created_at
        from rolecall.finished_tasks as task
        where task.id = p_id and not exists (select from open)
        limit 1
    )
$$;
CREATE FUNCTION rolecall.outcome_of(p_id bigint, p_whole_chain boolean) RETURNS rolecall.task_state
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_state rolecall.task_state;
begin
    if p_whole_chain then
        v_state := (
            select task.state from rolecall.finished_tasks as task
            where task.chain_id = p_id and task.chain_index > 0
            order by task.chain_index desc
            limit 1
        );
    end if;
    return coalesce(v_state, (
        select task.state from rolecall.find_finished(array[p_id]) as task order by task.finished_at desc limit 1
    ));
end
$$;
CREATE FUNCTION rolecall.outline(p_id bigint, p_depth integer DEFAULT 5, p_few integer DEFAULT 12, p_most integer DEFAULT 150, p_unfolded_parent bigint DEFAULT NULL::bigint, p_unfolded_handler text DEFAULT NULL::text) RETURNS TABLE(parent_id bigint, depth integer, handler text, number integer, first_id bigint, states jsonb, named bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
declare
    v_since timestamptz := (select task.created_at from rolecall.all_tasks as task where task.id = p_id);
    v_parents bigint[] := array[p_id];
    v_next bigint[];
    v_left int := p_most;
begin
    for v_level in 0..p_depth loop
        v_next := '{}';
        depth := v_level;
        for parent_id, handler, number, first_id, states, named in
            select phase.parent_id, phase.handler, phase.number, phase.first_id, phase.states, phase.named
            from rolecall.phases_of(
                v_parents, v_since, p_few, case when v_level < p_depth then v_left else 0 end, p_unfolded_parent, p_unfolded_handler
            ) as phase
        loop
            v_next := v_next || named;
            return next;
        end loop;
        exit when v_next = '{}';
        v_left := v_left - cardinality(v_next);
        v_parents := v_next;
    end loop;
end
$$;
CREATE FUNCTION rolecall.parents_among(p_ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select given.id
    from unnest(p_ids) as given (id)
    where exists (select from rolecall.tasks as child where child.parent_id = given.id)
        or exists (select from rolecall.finished_tasks as child where child.parent_id = given.id)
$$;
CREATE FUNCTION rolecall.park_losers(p_keys text[], p_winners bigint[], p_now timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    -- Bounds the time of one claim: 5,000 rows take about a twentieth of a second.
    v_bound constant int := 5000;
    v_losers bigint[] := array(
        (
            select task.id from rolecall.tasks as task
            where task.key = any(p_keys) and task.state = 'pending' and task.parked is not true and task.key_slot is null
                and task.scheduled_for <= p_now
            limit v_bound + cardinality(p_winners)
        )
        -- Not a join: of arrays the planner expects ten, and would compare a thousand losers with a thousand winners each.
        except
        select winner from unnest(p_winners) as winner
    );
begin
    if v_losers <> '{}' then
        update rolecall.tasks as loser
        set parked = true
        where loser.id = any(array(
            select task.id from rolecall.tasks as task
            where task.id = any(v_losers) and task.state = 'pending' and task.key_slot is null
            for update skip locked
        ));
    end if;
    return cardinality(v_losers) < v_bound;
end
$$;
CREATE FUNCTION rolecall.parked_heads(p_keys text[]) RETURNS TABLE(key text, id bigint, line_id integer)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_keys text[];
    v_rooms int[];
begin
    select array_agg(room.key), array_agg(cardinality(room.free)) into v_keys, v_rooms
    from rolecall.room_of_keys(p_keys) as room
    where room.free <> '{}';
    return query
    with head as materialized (
        select * from rolecall.heads_of_keys(v_keys, v_rooms, rolecall.clock())
    ),
    ranked as (
        select head.key, head.id, head.parked, head.line_id, row_number() over (
            partition by head.key, line.role, line.handler, line.misfit_for order by line.priority desc, head.scheduled_for, head.id
        ) as turn
        from head
        join (
            select line.id as line_id, line.role, line.handler, line.misfit_for, line.priority
            from rolecall.lines as line
            where line.id = any(array(select distinct head.line_id from head))
        ) as line using (line_id)
    )
    select ranked.key, ranked.id, ranked.line_id
    from ranked
    join unnest(v_keys, v_rooms) as room (key, number) using (key)
    where ranked.parked and ranked.turn <= room.number;
end
$$;
CREATE FUNCTION rolecall.parts_of_chain(p_chain_id bigint, p_before integer DEFAULT NULL::integer, p_limit integer DEFAULT 50) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select last.id
    from (
        select part.id, part.chain_index
        from (
            select task.id, task.chain_index from rolecall.tasks as task where task.id = p_chain_id and task.chain_index = 0
            union all
            select task.id, task.chain_index from rolecall.tasks as task where task.chain_id = p_chain_id and task.chain_index > 0
            union all
            select task.id, task.chain_index from rolecall.finished_tasks as task where task.id = p_chain_id and task.chain_index = 0
            union all
            (
                select task.id, task.chain_index
                from rolecall.finished_tasks as task
                where task.chain_id = p_chain_id and task.chain_index > 0 and task.chain_index < coalesce(p_before, 2147483647)
                order by task.chain_index desc
                limit p_limit
            )
        ) as part
        where part.chain_index < coalesce(p_before, 2147483647)
        order by part.chain_index desc
        limit p_limit
    ) as last
    order by last.chain_index
$$;
CREATE FUNCTION rolecall.path_of_procedures() RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select case when rolecall.is_owners_session() then own.reset_val else coalesce((
        select substr(setting, length('search_path=') + 1)
        from pg_catalog.pg_db_role_setting as said, unnest(said.setconfig) as setting
        where setting like 'search_path=%' and said.setrole in (0, current_user::regrole)
            and said.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
        order by said.setrole <> 0 desc, said.setdatabase <> 0 desc
        limit 1
    ), 'public') || ', pg_temp' end
    from pg_catalog.pg_settings as own
    where own.name = 'search_path'
$$;
CREATE FUNCTION rolecall.pattern_of_key(p_key text) RETURNS TABLE(prefix text, capacity smallint)
    LANGUAGE sql STABLE
    AS $$
    select pattern.prefix, coalesce(pattern.capacity, pattern.declared)
    from rolecall.key_patterns as pattern
    where pg_catalog.starts_with(p_key, pattern.prefix) and not (pg_catalog.starts_with(p_key, 'role:') and exists (
        select from rolecall.roles as role where role.name = pg_catalog.substr(p_key, 6) and role.one_root
    ))
    order by pg_catalog.length(pattern.prefix) desc
    limit 1
$$;
CREATE FUNCTION rolecall.pause_role(p_role text, p_seconds double precision DEFAULT NULL::double precision, p_by text DEFAULT NULL::text) RETURNS TABLE(paused_at timestamp with time zone, paused_until timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
begin
    if p_seconds <= 0 or p_seconds > 315576000 then
        perform rolecall.refuse('RC041', 'a pause is longer than nothing, and not longer than ten years');
    end if;
    return query
    update rolecall.roles as role
    set paused_at = case when role.paused_until <= v_now then v_now else coalesce(role.paused_at, v_now) end,
        paused_until = v_now + make_interval(secs => p_seconds), paused_by = p_by
    where role.name = p_role
    returning role.paused_at, role.paused_until;
    if not found then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    perform rolecall.notify('rolecall_pause', p_role);
end
$$;
CREATE FUNCTION rolecall.phases_of(p_parents bigint[], p_since timestamp with time zone, p_few integer, p_left integer, p_unfolded_parent bigint DEFAULT NULL::bigint, p_unfolded_handler text DEFAULT NULL::text) RETURNS TABLE(parent_id bigint, handler text, number integer, first_id bigint, states jsonb, named bigint[])
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with child as (
        select parent.n, parent.id as parent_id, line.handler, task.id, task.state,
            parent.id = p_unfolded_parent and line.handler = p_unfolded_handler as unfolded,
            case when task.state = 'failed' then 1 when task.state in ('waiting', 'running') then 2 end as urgency
        from unnest(p_parents) with ordinality as parent (id, n)
        cross join lateral (
            select open.id, open.line_id, open.state
            from rolecall.tasks as open
            where open.parent_id = parent.id
            union all
            select ended.id, ended.line_id, ended.state
            from rolecall.finished_tasks as ended
            -- None ends in days to come, which have partitions already.
            where ended.parent_id = parent.id and ended.finished_at >= p_since
                and ended.finished_at < rolecall.clock() + interval '1 hour'
            offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id
    ),
    numbered as (
        select *, count(*) over phase as number,
            row_number() over (phase order by urgency, array_position('{waiting,running,pending,blocked,cancelled}', state), id) as place,
            row_number() over (partition by n, handler, urgency order by state desc, id) as place_of_urgency
        from child
        window phase as (partition by n, handler)
    ),
    phase as (
        select n, parent_id, handler, number::int as number, min(id) as first_id,
            coalesce(array_agg(id order by number > p_few and state = 'failed' desc, id) filter (where case
                when number <= p_few then true when unfolded then place <= 30 else urgency is not null and place_of_urgency <= 3
            end), '{}') as named
        from numbered
        group by n, parent_id, handler, number
    )
    select phase.parent_id, phase.handler, phase.number, phase.first_id, counted.states,
        case when sum(cardinality(phase.named)) over (order by phase.n, phase.first_id) <= p_left then phase.named else '{}' end
    from phase
    join (
        select n, handler, jsonb_object_agg(state, number) as states
        from (select n, handler, state, count(*) as number from child group by n, handler, state) as of_state
        group by n, handler
    ) as counted using (n, handler)
    order by phase.n, phase.first_id
$$;
CREATE FUNCTION rolecall.pick_from_level(p_level integer[], p_claimant rolecall.claimant, p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], slots smallint[], keyed bigint[])
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
    perform rolecall.renew_floors(p_level, p_now);
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
                v_share.line_id, p_claimant, least(v_share.number, p_limit - cardinality(ids)), v_taken, p_now
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
CREATE FUNCTION rolecall.pick_in_two_turns(p_level integer[], p_claimant rolecall.claimant, p_limit integer, p_free integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], slots smallint[], keyed bigint[], held_back boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_ahead rolecall.claimant := (p_claimant.worker_id, p_claimant.roles, p_claimant.handlers, true);
    v_others int[] := array(select line.line_id from rolecall.lines_of_claim(p_level, v_ahead, p_now) as line);
    v_got record;
begin
    ids := '{}';
    slots := '{}';
    keyed := '{}';
    held_back := false;
    if p_free > 0 then
        select * into ids, slots, keyed
        from rolecall.pick_from_level(p_level, p_claimant, least(p_free, p_limit), p_taken, p_now);
        if cardinality(ids) < p_free then
            return next;
            return;
        end if;
    end if;
    -- The walks that follow start from the same floors.
    perform rolecall.renew_floors(p_level, p_now);
    held_back := exists (
        select from rolecall.share_out(p_level, 1, p_taken || ids, p_now) as head where head.line_id <> all(v_others)
    );
    if not held_back and v_others <> '{}' and cardinality(ids) < p_limit then
        select * into v_got
        from rolecall.pick_from_level(v_others, v_ahead, p_limit - cardinality(ids), p_taken || ids, p_now);
        ids := ids || v_got.ids;
        slots := slots || v_got.slots;
        keyed := keyed || v_got.keyed;
    end if;
    return next;
end
$$;
CREATE FUNCTION rolecall.plain_twins(p_tasks jsonb, p_positions bigint[]) RETURNS TABLE(n bigint, id bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
    return query
    select item.n, (
        select task.id from rolecall.tasks as task
        where item.draft -> 'dedupe' is null
            and task.dedupe_key = rolecall.full_dedupe_key(item.draft) and task.dedupe_pending is not true
    )
    from (
        select refused.n, refused.turn, p_tasks -> (refused.n - 1)::int as draft
        from unnest(p_positions) with ordinality as refused (n, turn)
    ) as item
    order by item.turn;
end
$$;
CREATE FUNCTION rolecall.pods_at_work(p_prefix text) RETURNS TABLE(pod text, worker_ids bigint[], running bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select worker.pod, array_agg(worker.id order by worker.id), sum(cardinality(worker.running_tasks))
    from rolecall.all_workers as worker
    where worker.active and starts_with(worker.pod, p_prefix)
    group by worker.pod
    order by worker.pod
$$;
CREATE FUNCTION rolecall.prepare_dedupe(p_tasks jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    -- A thousand numbers keep the locks few, however long the batch.
    perform pg_advisory_xact_lock(7246927, slot.number)
    from (
        select distinct hashtext(rolecall.full_dedupe_key(draft)) & 1023 as number
        from jsonb_array_elements(p_tasks) as draft
        where draft -> 'dedupe' ->> 'scope' = 'any' and draft ->> 'dedupe_key' is not null
        order by number
    ) as slot;
    return array(
        select item.n
        from (
            select n, row_number() over (partition by rolecall.full_dedupe_key(draft) order by n) as turn
            from jsonb_array_elements(p_tasks) with ordinality as given (draft, n)
            where rolecall.full_dedupe_key(draft) is not null
        ) as item
        where item.turn > 1
    );
end
$$;
CREATE FUNCTION rolecall.procedure_sessions() RETURNS TABLE(pid integer, worker_id bigint, task_id bigint, is_drain boolean, worker_is_gone boolean)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $_$
    select session.pid, named.worker_id, named.task_id, worker.host is null and worker.id is not null,
        coalesce(worker.stopped_at is not null or worker.heartbeat_at < rolecall.clock() - interval '5 min', true)
    from pg_catalog.pg_stat_activity as session
    cross join regexp_match(session.application_name, '^rolecall:worker:(\d{1,18}):task:(\d{1,18})$') as part
    cross join lateral (select part[1]::bigint as worker_id, part[2]::bigint as task_id) as named
    left join rolecall.workers as worker on worker.id = named.worker_id
    where part is not null and session.datname = current_database() and session.pid <> pg_backend_pid()
$_$;
CREATE PROCEDURE rolecall.process_tasks(IN p_role text DEFAULT NULL::text, IN p_max_tasks integer DEFAULT NULL::integer, IN p_max_runtime interval DEFAULT NULL::interval, IN p_commit boolean DEFAULT NULL::boolean)
    LANGUAGE plpgsql
    AS $$
declare
    v_ends timestamptz := clock_timestamp() + p_max_runtime;
    v_done int := 0;
    v_failed int := 0;
    v_commits boolean;
    v_worker_id bigint;
    v_claim record;
    v_error text;
    v_interruption text;
    v_code text;
begin
    -- In a block with an exception handler nobody may commit, but who might elsewhere is told so in other words.
    begin
        commit;
    exception when invalid_transaction_termination then
        v_commits := coalesce(p_commit, sqlerrm <> rolecall.refusal_of_commit());
    end;
    if v_commits then
        perform rolecall.rescue();
    end if;
    v_worker_id := rolecall.open_drain(p_role);
    loop
        if v_commits then
            commit;
            -- A claim that a crash of the server undoes is made again: only what the tasks did must wait for the disk.
            perform set_config('synchronous_commit', 'off', true);
        end if;
        exit when v_done >= p_max_tasks or clock_timestamp() >= v_ends;
        select * into v_claim from rolecall.claim_for_drain(v_worker_id, p_role);
        exit when v_claim.id is null;
        perform rolecall.run_before_hook(v_worker_id, v_claim.id, v_claim.fence);
        if v_commits then
            commit;
        end if;
        select run.error, run.interruption, run.code into v_error, v_interruption, v_code
        from rolecall.run_for_drain(v_worker_id, v_claim.id, v_claim.fence, v_commits) as run;
        exit when v_interruption is not null;
        v_done := v_done + 1;
        v_failed := v_failed + (v_error is not null)::int;
    end loop;
    perform rolecall.deregister_worker(v_worker_id);
    if v_interruption is not null then
        if v_commits then
            commit;
        end if;
        raise exception using errcode = v_code, message = v_interruption;
    end if;
    raise notice '% tasks processed, % of them failed', v_done, v_failed;
end
$$;
CREATE FUNCTION rolecall.progress(p_id bigint) RETURNS TABLE(id bigint, parent_id bigint, depth integer, role text, handler text, state rolecall.task_state, begun boolean, counting boolean, serial boolean, info jsonb, children_info jsonb, children jsonb, facts jsonb)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with task as materialized (
        select * from rolecall.open_tree(p_id)
    ),
    parent as materialized (
        select * from task where is_parent or depth = 0
    ),
    child as materialized (
        select task.parent_id, task.id, task.line_id, task.parent_fence, task.state, task.info, task.is_parent, false as continued
        from task
        where task.parent_id is not null
        union all
        select parent.id, ended.id, ended.line_id, ended.parent_fence, ended.state, ended.info, false, ended.continued is true
        from parent
        cross join lateral (
            select finished.*
            from rolecall.finished_tasks as finished
            -- No child ends before its parent is made, and none in days to come, which have partitions already.
            where finished.parent_id = parent.id and finished.finished_at >= parent.created_at
                and finished.finished_at < rolecall.clock() + interval '1 hour'
            offset 0
        ) as ended
    ),
    counted as (
        select parent_id, jsonb_agg(jsonb_build_object(
            'handler', line.handler, 'fence', parent_fence, 'state', state, 'number', number, 'first_id', first_id
        ) order by first_id) as children
        from (
            select parent_id, line_id, parent_fence, state, count(*) as number, min(id) as first_id
            from child
            where not continued
            group by parent_id, line_id, parent_fence, state
        ) as grouped
        join rolecall.lines as line on line.id = line_id
        group by parent_id
    ),
    told as (
        select parent_id, jsonb_object_agg(key, jsonb_build_object('sum', total, 'last', last, 'last_id', last_id)) as facts
        from (
            select child.parent_id, fact.key, max(child.id) as last_id, (array_agg(fact.value order by child.id desc))[1] as last,
                case when bool_and(jsonb_typeof(fact.value) = 'number')
                    then sum(case when jsonb_typeof(fact.value) = 'number' then fact.value::numeric end) end as total
            from child
            join parent on parent.id = child.parent_id and parent.fence = child.parent_fence and parent.counting
            cross join lateral jsonb_each(child.info) as fact
            where not child.is_parent
            group by child.parent_id, fact.key
        ) as fact
        group by parent_id
    )
    select parent.id, parent.parent_id, parent.depth, line.role, line.handler, parent.state,
        parent.state in ('running', 'waiting') or (parent.is_parent and parent.state = 'pending'), parent.counting, parent.serial,
        parent.info, parent.children_info, coalesce(counted.children, '[]'), coalesce(told.facts, '{}')
    from parent
    join rolecall.lines as line on line.id = parent.line_id
    left join counted on counted.parent_id = parent.id
    left join told on told.parent_id = parent.id
    order by parent.depth, parent.id
$$;
CREATE FUNCTION rolecall.protect_deeds() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if tg_op = 'DELETE' then
        if not exists (
            select from gone
            where gone.at > rolecall.clock() - (select kept.keep from rolecall.retention as kept where kept.kind = 'deeds')
        ) then
            return null;
        end if;
    end if;
    raise exception using errcode = '42501', message = format('the audit log cannot be changed (%s)', lower(tg_op)),
        hint = 'rolecall prune --keep-audit says for how long it is kept.';
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
    v_row rolecall.retention;
    v_batch record;
begin
    -- Days last, as the lock that dropping one takes lasts until the commit, and nobody can finish a task meanwhile.
    for what in select kind from rolecall.retention order by kind like '%\_partitions', kind loop
        number := 0;
        loop
            select * into v_row from rolecall.retention where kind = what for update skip locked;
            exit when not found;
            select * into v_batch from rolecall.prune_batch(v_row, v_now, v_bound);
            number := number + v_batch.number;
            exit when not v_batch.more or (number > 0 and what not like '%\_partitions');
        end loop;
        return next;
    end loop;
end
$$;
CREATE FUNCTION rolecall.prune_access(p_kind text, p_now timestamp with time zone, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_long_ago timestamptz := p_now - interval '30 days';
    v_gone bigint;
begin
    case p_kind
        when 'api_keys' then
            update rolecall.api_keys set revoked_at = p_now
            where revoked_at is null and expires_at is not null and coalesce(last_used_at, created_at) < v_long_ago;
            delete from rolecall.api_keys where least(revoked_at, expires_at) < v_long_ago;
        when 'sessions' then
            delete from rolecall.sessions
            where digest = any(array(
                select old.digest from rolecall.sessions as old where old.expires_at < p_now limit p_limit for update skip locked
            ));
        when 'known_browsers' then
            delete from rolecall.known_browsers
            where (digest, person_id) in (
                select old.digest, old.person_id from rolecall.known_browsers as old
                where old.last_seen_at < p_now - interval '180 days' limit p_limit for update skip locked
            );
        when 'login_attempts' then
            delete from rolecall.login_attempts
            where digest = any(array(
                select old.digest from rolecall.login_attempts as old
                where old.last_at < p_now - interval '1 day' limit p_limit for update skip locked
            ));
    end case;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
CREATE TABLE rolecall.retention (
    kind text NOT NULL COLLATE pg_catalog."C",
    keep interval,
    next_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    place text COLLATE pg_catalog."C",
    in_use_since timestamp with time zone,
    CONSTRAINT keep_is_at_least_a_day CHECK ((keep >= '1 day'::interval))
);
CREATE FUNCTION rolecall.prune_batch(p_row rolecall.retention, p_now timestamp with time zone, p_limit integer) RETURNS TABLE(number bigint, more boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_oldest timestamptz := p_now - coalesce((select max(greatest(keep_completed, keep_failed)) from rolecall.roles), interval '30 days');
    v_place text;
    v_in_use boolean := false;
begin
    case p_row.kind
        when 'finished_tasks' then
            select * into number, v_place from rolecall.prune_finished(p_row.place, rolecall.held_chains(), p_now, p_limit);
        when 'task_partitions', 'event_partitions' then
            select * into number, v_place, v_in_use
            from rolecall.drop_day(
                case p_row.kind when 'task_partitions' then 'rolecall.finished_tasks' else 'rolecall.task_events' end::regclass,
                p_row.place, (v_oldest at time zone 'utc')::date, rolecall.held_chains(), p_now
            );
        when 'keys' then
            select * into number, v_place from rolecall.prune_keys(p_row.place, p_limit);
        when 'task_tokens' then
            select * into number, v_place from rolecall.prune_tokens(p_row.place, p_now, p_limit);
        when 'schedule_runs' then
            number := rolecall.prune_schedule_runs(p_now, p_limit);
        when 'history' then
            number := rolecall.prune_history(p_now);
        when 'api_keys', 'sessions', 'known_browsers', 'login_attempts' then
            number := rolecall.prune_access(p_row.kind, p_now, p_limit);
        else
            number := rolecall.prune_rows(p_row.kind, p_row.keep, v_oldest, p_now, p_limit);
    end case;
    more := v_place is not null or (number >= p_limit and p_row.kind not in ('keys', 'task_tokens'));
    update rolecall.retention as row
    set place = v_place,
        next_at = p_now + case when more then '0 s' when v_in_use then '1 min' else '1 hour' end::interval,
        in_use_since = case
            when v_in_use then coalesce(row.in_use_since, p_now)
            when number = 0 and v_place is not null then row.in_use_since
        end
    where row.kind = p_row.kind;
    return next;
end
$$;
CREATE FUNCTION rolecall.prune_day(p_name text, p_most interval, p_held bigint[], p_now timestamp with time zone, p_limit integer) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_gone bigint[];
begin
    execute format(
        'with gone as (
            -- Of the whole table, whose trigger counts what leaves it.
            delete from rolecall.finished_tasks as finished
            where (finished.id, finished.finished_at) in (
                select old.id, old.finished_at
                from rolecall.%I as old
                join rolecall.lines as line on line.id = old.line_id
                join rolecall.roles as role on role.name = line.role
                cross join lateral (
                    select case old.state when ''completed'' then role.keep_completed else role.keep_failed end as keep
                ) as said
                where old.finished_at < $2 - said.keep and (said.keep > $4) is not true
                    and case
                        when old.parent_id is null and old.chain_index = 0 and old.continued is not true then old.id <> all($1)
                        else not rolecall.is_wanted(old.chain_id, old.parent_id, $1, $2)
                    end
                    -- Not `exists`, which may be answered from a list of all children.
                    and (select true from rolecall.finished_tasks as child where child.parent_id = old.id limit 1) is null
                limit $3
            )
            returning finished.id
        )
        select coalesce(array_agg(gone.id), ''{}'') from gone', p_name
    ) into v_gone using p_held, p_now, p_limit, p_most;
    return v_gone;
end
$_$;
CREATE FUNCTION rolecall.prune_due(p_limit integer DEFAULT 2000) RETURNS TABLE(what text, number bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_row rolecall.retention;
begin
    -- Any of them: if one could not be pruned for an error, it must not keep all others from their turn.
    select * into v_row from rolecall.retention where next_at <= v_now order by random() limit 1 for update skip locked;
    if not found then
        return;
    end if;
    what := v_row.kind;
    select batch.number into number from rolecall.prune_batch(v_row, v_now, p_limit) as batch;
    return next;
end
$$;
CREATE FUNCTION rolecall.prune_finished(p_after text, p_held bigint[], p_now timestamp with time zone, p_limit integer) RETURNS TABLE(number bigint, place text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_day record;
    v_done text := p_after;
    v_gone bigint[];
begin
    for v_day in select * from rolecall.days_to_prune(p_after, p_now) loop
        v_gone := rolecall.prune_day(v_day.name, v_day.most, p_held, p_now, p_limit);
        exit when v_gone <> '{}';
        v_done := v_day.name;
    end loop;
    delete from rolecall.needs as need where need.task_id = any(v_gone);
    number := coalesce(cardinality(v_gone), 0);
    -- The same day again, until there is nothing: whose last child has gone may go itself.
    place := case when number > 0 then coalesce(v_done, '') end;
    return next;
end
$$;
CREATE FUNCTION rolecall.prune_history(p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_gone bigint;
begin
    delete from rolecall.history as old
    using rolecall.history_tiers() as tier
    where old.width = tier.width and old.at < p_now - tier.kept;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
CREATE FUNCTION rolecall.prune_keys(p_after text, p_limit integer) RETURNS TABLE(number bigint, place text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    v_looked_at text[];
    v_idle text[];
begin
    v_looked_at := array(select known.key from rolecall.keys as known where known.key > coalesce(p_after, '') order by known.key limit p_limit);
    v_idle := array(
        select known.key from rolecall.keys as known
        where known.key = any(v_looked_at) and num_nonnulls(known.capacity, known.declared) = 0
            and not exists (select from rolecall.tasks as task where task.key = known.key and task.key_slot is not null)
            and not exists (select from rolecall.tasks as task where task.key = known.key and task.state = 'pending')
        order by known.key
        for update of known skip locked
    );
    -- Another statement, which sees who took one of them since the first looked, and gave its row free before that had locked it.
    delete from rolecall.keys as known
    where known.key = any(v_idle)
        and not exists (select from rolecall.tasks as task where task.key = known.key and task.key_slot is not null)
        and not exists (select from rolecall.tasks as task where task.key = known.key and task.state = 'pending');
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then v_looked_at[p_limit] end;
    return next;
end
$$;
CREATE FUNCTION rolecall.prune_rows(p_kind text, p_keep interval, p_oldest timestamp with time zone, p_now timestamp with time zone, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_gone bigint;
begin
    case p_kind
        when 'task_events' then
            -- Only the net is read row by row: events of days with a partition go with it.
            delete from rolecall.task_events_default
            where ctid = any(array(select old.ctid from rolecall.task_events_default as old where old.at < p_oldest limit p_limit));
        when 'requests' then
            delete from rolecall.requests
            where ctid = any(array(
                select old.ctid from rolecall.requests as old where old.answered_at < p_now - interval '1 day'
                order by old.answered_at limit p_limit for update skip locked
            ));
        when 'deeds' then
            delete from rolecall.deeds
            where id = any(array(
                select old.id from rolecall.deeds as old where old.at < p_now - p_keep order by old.at limit p_limit
            ));
        when 'workers' then
            delete from rolecall.workers
            where id = any(array(
                select old.id from rolecall.workers as old
                where coalesce(old.stopped_at, old.heartbeat_at) < p_now - interval '1 day'
                limit p_limit for update skip locked
            ));
        when 'idle_marks' then
            -- Of workers that died; the others take theirs away.
            delete from rolecall.idle_marks
            where ctid = any(array(
                select old.ctid from rolecall.idle_marks as old where old.until < p_now limit p_limit for update skip locked
            ));
    end case;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
CREATE FUNCTION rolecall.prune_schedule_runs(p_now timestamp with time zone, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_gone bigint;
begin
    delete from rolecall.schedule_runs
    where id = any(array(
        select old.id
        from rolecall.schedules as schedule
        cross join lateral (
            select coalesce((
                select run.id from rolecall.schedule_runs as run
                where run.schedule_id = schedule.id order by run.id desc offset 1000 limit 1
            ), 0) as id
        ) as last_to_go
        join rolecall.schedule_runs as old on old.schedule_id = schedule.id
            and (old.id <= last_to_go.id or old.at < p_now - interval '30 days')
        limit p_limit
        for update of old skip locked
    ));
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
CREATE FUNCTION rolecall.prune_tokens(p_after text, p_now timestamp with time zone, p_limit integer) RETURNS TABLE(number bigint, place text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_looked_at bytea[];
begin
    v_looked_at := array(
        select token.digest from rolecall.task_tokens as token
        where token.digest > decode(coalesce(p_after, ''), 'hex')
        order by token.digest
        limit p_limit
    );
    delete from rolecall.task_tokens as token
    where token.digest = any(v_looked_at)
        and (token.expires_at < p_now or not exists (select from rolecall.tasks as task where task.id = token.task_id));
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then encode(v_looked_at[p_limit], 'hex') end;
    return next;
end
$$;
CREATE FUNCTION rolecall.put_schedule(p_schedule jsonb) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.store_schedule(p_schedule, null)
$$;
CREATE FUNCTION rolecall.read_drafts(p_tasks jsonb, p_now timestamp with time zone) RETURNS TABLE(n bigint, role text, handler text, priority integer, due timestamp with time zone, key text, dedupe_key text, max_attempts integer, payload jsonb, retry jsonb, timeout interval, on_failure rolecall.child_rule, needs jsonb, dedupe jsonb, one_root boolean)
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select
        item.n, named.role, named.handler, item.priority, named.due,
        item.key, named.handler || '/' || item.dedupe_key,
        nullif(coalesce(item.max_attempts, handler.max_attempts, role.max_attempts, 0), 0),
        coalesce(item.payload, '{}'), item.retry, make_interval(secs => item.timeout),
        item.on_failure::rolecall.child_rule, nullif(item.needs, '[]'), nullif(item.dedupe, 'null'), role.one_root
    from rows from (jsonb_to_recordset(p_tasks) as (
        role text, handler text, payload jsonb, priority int, scheduled_for timestamptz, after float8,
        key text, dedupe_key text, max_attempts int, retry jsonb, timeout float8, on_failure text, needs jsonb, dedupe jsonb
    )) with ordinality as item (
        role, handler, payload, priority, scheduled_for, after, key, dedupe_key, max_attempts, retry, timeout, on_failure, needs,
        dedupe, n
    )
    -- Each by its name: there may be thousands of handlers and roles, and a batch names few.
    left join lateral (
        select * from rolecall.handlers as known where known.name = coalesce(item.handler, item.role) offset 0
    ) as handler on true
    cross join lateral (
        select
            coalesce(item.role, handler.role, item.handler) as role,
            coalesce(item.handler, item.role) as handler,
            coalesce(
                item.scheduled_for,
                p_now + make_interval(secs => least(greatest(item.after, 0), 4e9))
            ) as due
    ) as named
    left join lateral (select * from rolecall.roles as known where known.name = named.role offset 0) as role on true
    cross join lateral (
        select coalesce(
            rolecall.task_problem(
                item.payload, role.max_payload_bytes, item.priority, named.due, p_now,
                item.key, item.dedupe_key, item.max_attempts, item.retry
            ),
            rolecall.edge_problem(item.timeout, item.on_failure, item.needs),
            case when item.dedupe <> 'null' then rolecall.dedupe_problem(item.dedupe, item.dedupe_key) end
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
CREATE FUNCTION rolecall.recent_work(p_role text, p_now timestamp with time zone) RETURNS TABLE(role text, claimed bigint, completed bigint, failed bigint, arrived bigint, runs bigint, slot_seconds double precision, slots double precision)
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    -- Each row is looked at once: an hour may have a million.
    with ended as (
        select task.line_id, task.worker_id, date_bin('1 min', task.finished_at, 'epoch') as minute,
            count(*) filter (where task.claimed_at > p_now - interval '1 hour') as claimed,
            count(*) filter (where task.state = 'completed') as completed,
            count(*) filter (where task.state = 'failed') as failed,
            count(*) filter (where task.created_at > p_now - interval '1 hour') as arrived,
            -- A parent that ended with its last child has no claim of its own, and waited for most of its time.
            count(task.started_at) filter (where task.claimed_at is not null) as runs,
            sum(greatest(task.attempt, 1)) filter (where task.claimed_at is not null and task.started_at is not null) as attempts,
            sum(task.finished_at - task.started_at) filter (where task.claimed_at is not null) as took,
            min(task.started_at) filter (where task.claimed_at is not null) as first_start,
            max(task.finished_at) filter (where task.claimed_at is not null and task.started_at is not null) as last_end
        from rolecall.finished_tasks as task
        where task.finished_at > p_now - interval '1 hour' and task.finished_at < p_now + interval '1 hour'
            and (p_role is null or task.line_id = any(array(select line.id from rolecall.lines as line where line.role = p_role)))
        group by 1, 2, 3
    ),
    minutes as (
        select line.role, coalesce(max(worker.slots), 1) as slots, ended.worker_id is not null as measured,
            sum(ended.claimed) as claimed, sum(ended.completed) as completed, sum(ended.failed) as failed,
            sum(ended.arrived) as arrived, sum(ended.runs) as runs, sum(ended.attempts) / nullif(sum(ended.runs), 0) as attempts,
            extract(epoch from sum(ended.took)) as seconds, extract(epoch from max(ended.last_end) - min(ended.first_start)) as span
        from ended
        join rolecall.lines as line on line.id = ended.line_id
        left join rolecall.workers as worker on worker.id = ended.worker_id
        group by line.role, ended.worker_id, ended.minute
    )
    select minutes.role, sum(claimed)::bigint, sum(completed)::bigint, sum(failed)::bigint, sum(arrived)::bigint,
        coalesce(sum(runs) filter (where measured), 0)::bigint,
        (sum(least(seconds, minutes.slots * span) * attempts) filter (where measured))::float8,
        (sum(minutes.slots * runs) filter (where measured) / nullif(sum(runs) filter (where measured), 0))::float8
    from minutes
    group by minutes.role
$$;
CREATE FUNCTION rolecall.record_deed(p_actor text, p_via text, p_origin text, p_action text, p_detail jsonb, p_outcome jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    insert into rolecall.deeds (at, actor, via, origin, action, detail, outcome)
    values (rolecall.clock(), p_actor, p_via, p_origin, p_action, p_detail, p_outcome)
$$;
CREATE FUNCTION rolecall.refresh_twin(p_id bigint, p_task jsonb, p_place rolecall.place) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_merges boolean := p_task -> 'dedupe' ->> 'mode' = 'merge';
    v_twin record;
    v_draft record;
    v_turn timestamptz;
    v_line_id int;
begin
    select task.payload, task.key, line.role, line.handler, line.priority::int, line.never_ahead, role.max_payload_bytes
    into v_twin
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    join rolecall.roles as role on role.name = line.role
    where task.id = p_id and task.fence = 0
    for update of task;
    if not found then
        return false;
    end if;
    select draft.payload, draft.due, coalesce(draft.priority, p_place.priority, 0) as priority into v_draft
    from rolecall.read_drafts(jsonb_build_array(p_task), v_now) as draft;
    v_turn := greatest(v_draft.due, v_now);
    if v_merges then
        v_draft.payload := rolecall.merge_payloads(v_twin.payload, v_draft.payload, p_task -> 'dedupe' -> 'merge');
        v_draft.priority := greatest(v_draft.priority, v_twin.priority);
        if octet_length(v_draft.payload::text) > v_twin.max_payload_bytes then
            perform rolecall.refuse('RC040', format('the merged payload of task %s has %s bytes, the role allows %s',
                p_id, octet_length(v_draft.payload::text), v_twin.max_payload_bytes));
        end if;
    end if;
    v_line_id := rolecall.find_or_add_line(v_twin.role, v_twin.handler, v_draft.priority, v_twin.never_ahead, '{}');
    update rolecall.tasks as task
    set payload = v_draft.payload, scheduled_for = v_turn, parked = false, line_id = v_line_id
    where task.id = p_id;
    if v_turn <= v_now then
        perform rolecall.wake_lines(array[v_line_id]);
    elsif v_twin.key is not null then
        -- It may have been the one whose turn with the key it was.
        perform rolecall.require_read_committed();
        perform rolecall.unpark_heads(array[v_twin.key]);
    end if;
    return true;
end
$$;
CREATE FUNCTION rolecall.refusal_of_commit() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    commit;
exception when invalid_transaction_termination then
    return sqlerrm;
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
CREATE FUNCTION rolecall.refuse_circle(p_ids bigint[], p_target bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
    if exists (
        with recursive wait as (
            select id, false as is_reached from unnest(p_ids) as given (id)
            union
            select next.id, true
            from wait
            cross join lateral (
                select task.id from rolecall.needs as need
                join rolecall.tasks as task on task.id = need.needed_id
                -- A way on from a task that the target waits for anyway would be a circle already.
                where need.task_id = wait.id and need.outcome is null and task.parent_id is distinct from p_target
                union all
                select task.id from rolecall.needs as need
                join rolecall.tasks as task on task.chain_id = need.needed_id and task.chain_index > 0
                where need.task_id = wait.id and need.outcome is null and need.whole_chain
                    and task.parent_id is distinct from p_target
                union all
                select child.id from rolecall.tasks as child where child.parent_id = wait.id
                union all
                select holder.id from rolecall.tasks as task
                join rolecall.tasks as holder on holder.key = task.key and holder.key_slot is not null
                where task.id = wait.id and task.key_slot is null
                    and (select room.capacity from rolecall.room_of_keys(array[task.key]) as room) = 1
            ) as next
        )
        select from wait where wait.id = p_target and wait.is_reached
    ) then
        perform rolecall.refuse('RC043', format('task %s would wait for itself: through needs, children or a key', p_target));
    end if;
end
$$;
CREATE FUNCTION rolecall.refuse_needed_chains(p_task_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_tie record;
begin
    select task.chain_id, dependent.id into v_tie
    from unnest(p_task_ids) as given (id)
    cross join lateral (
        select open.chain_id, open.parent_id from rolecall.tasks as open where open.id = given.id
        union all
        select finished.chain_id, finished.parent_id from rolecall.finished_tasks as finished where finished.id = given.id
    ) as task
    cross join lateral (
        select task.parent_id as id
        union all
        select need.task_id from rolecall.needs as need where need.needed_id = given.id
    ) as tie
    join rolecall.tasks as dependent on dependent.id = tie.id
    where not exists (select from unnest(p_task_ids) as inside (id) where inside.id = dependent.id)
    order by task.chain_id, dependent.id
    limit 1;
    if found then
        raise exception using errcode = 'RC005', detail = format('%s %s', v_tie.chain_id, v_tie.id),
            message = format('chain %s is needed by task %s, which is open and stays', v_tie.chain_id, v_tie.id);
    end if;
end
$$;
CREATE FUNCTION rolecall.refuse_twin(p_n bigint, p_dedupe_key text, p_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    raise exception using errcode = 'RC045', detail = p_id::text,
        message = format('task %s: task %s has the dedupe_key %L already', p_n - 1, p_id, p_dedupe_key);
end
$$;
CREATE FUNCTION rolecall.register_worker(p_name text, p_roles text[], p_handlers text[], p_slots integer, p_host text, p_pid integer, p_version text, p_pod text DEFAULT NULL::text, p_node text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.require_durability();
    select rolecall.server_up_since();
    insert into rolecall.workers (name, roles, handlers, slots, host, pid, version, pod, node, started_at, heartbeat_at)
    select p_name, p_roles, p_handlers, p_slots, p_host, p_pid, p_version, p_pod, p_node, clock, clock
    from rolecall.clock() as clock
    returning id
$$;
CREATE FUNCTION rolecall.release(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    return query
    select released.task_id, released.reason
    from rolecall.release_claims(p_worker_id, (
        select jsonb_agg(jsonb_build_object('id', claim.id, 'fence', claim.fence)) from unnest(p_ids, p_fences) as claim (id, fence)
    )) as released;
end
$$;
CREATE FUNCTION rolecall.release_apart(p_worker_id bigint, p_claims jsonb, p_until timestamp with time zone) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '10ms'
    AS $$
begin
    begin
        return query select * from rolecall.try_to_release(p_worker_id, p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_claims) = 1 or clock_timestamp() > p_until then
        return query select (claim -> 'id')::bigint, 'busy' from jsonb_array_elements(p_claims) as claim;
    else
        return query
        select apart.task_id, apart.reason
        from rolecall.halves(p_claims) as half
        cross join lateral rolecall.release_apart(p_worker_id, half, p_until) as apart;
    end if;
end
$$;
CREATE FUNCTION rolecall.release_claims(p_worker_id bigint, p_claims jsonb) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    begin
        return query select * from rolecall.try_to_release(p_worker_id, p_claims);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        -- Somebody has something that one of them needs: now each for itself.
        null;
    end;
    return query
    select apart.task_id, apart.reason
    from rolecall.release_apart(p_worker_id, rolecall.children_together(p_claims), clock_timestamp() + interval '400 ms') as apart;
end
$$;
CREATE FUNCTION rolecall.release_dependents(p_endings rolecall.ending[], p_children boolean) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_hit jsonb;
begin
    if not exists (select from unnest(p_endings) as ending where ending.needed) then
        return;
    end if;
    with met as (
        update rolecall.needs as need
        set outcome = ending.state
        from unnest(p_endings) as ending
        where ending.needed and need.outcome is null and (
            (not need.whole_chain and need.needed_id = ending.id)
            or (need.whole_chain and need.needed_id = ending.chain_id and ending.continued is not true)
        ) and p_children = exists (select from rolecall.tasks as task where task.id = need.task_id and task.parent_id is not null)
        returning need.task_id, ending.id as needed_id, need.on_failure = 'fail' and ending.state <> 'completed' as fatal
    )
    select jsonb_agg(jsonb_build_object('id', hit.task_id, 'number', hit.number, 'culprit', hit.culprit)) into v_hit
    from (
        select met.task_id, count(*) as number, min(met.needed_id) filter (where met.fatal) as culprit
        from met
        group by met.task_id
    ) as hit;
    if v_hit is not null then
        return query select * from rolecall.settle_blocked(v_hit);
    end if;
end
$$;
CREATE FUNCTION rolecall.remove_person(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_durability();
    delete from rolecall.people where name = p_name;
    return found;
end
$$;
CREATE FUNCTION rolecall.renew(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
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
CREATE FUNCTION rolecall.renew_floors(p_line_ids integer[], p_now timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.look_below(line.id, p_now)
    from unnest(p_line_ids) as line (id)
    where (rolecall.line_floor(line.id)).look_below_at > clock_timestamp() is not true
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
    SET jit TO 'off'
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
        select rolecall.notify('rolecall_cancel', worker_id::text) from asked group by worker_id
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
CREATE FUNCTION rolecall.rescue(p_limit integer DEFAULT 1000, p_silent_for interval DEFAULT '00:00:00'::interval) RETURNS TABLE(task_id bigint, state rolecall.task_state)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
declare
    v_expired jsonb;
begin
    perform rolecall.require_read_committed();
    select jsonb_agg(lost) into v_expired
    from (
        select * from rolecall.expired_claims(p_limit, p_silent_for)
        union all
        select * from rolecall.unfitting_tasks(p_limit)
    ) as found (lost);
    if v_expired is null then
        perform rolecall.end_sessions('{}');
        return;
    end if;
    perform rolecall.require_durability();
    begin
        return query select * from rolecall.try_to_rescue(v_expired);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        -- Somebody has something that one of them needs: now each for itself.
        null;
    end;
    return query
    select apart.task_id, apart.state
    from rolecall.rescue_apart(rolecall.children_together(v_expired), clock_timestamp() + interval '1 s') as apart;
end
$$;
CREATE FUNCTION rolecall.rescue_apart(p_expired jsonb, p_until timestamp with time zone) RETURNS TABLE(task_id bigint, state rolecall.task_state)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '10ms'
    AS $$
begin
    begin
        return query select * from rolecall.try_to_rescue(p_expired);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_expired) > 1 and clock_timestamp() < p_until and not rolecall.have_one_parent(p_expired) then
        return query
        select apart.task_id, apart.state
        from rolecall.halves(p_expired) as half
        cross join lateral rolecall.rescue_apart(half, p_until) as apart;
    end if;
end
$$;
CREATE FUNCTION rolecall.rescue_from(p_task rolecall.tasks, p_lease interval, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select greatest(
        p_task.lease_until,
        p_lease + coalesce((
            select epoch.seen_at from rolecall.server_epoch as epoch
            where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.seen_at <= p_now
        ), p_now),
        (
            select p_task.deadline_at from rolecall.procedure_sessions() as session
            where session.task_id = p_task.id and session.is_drain
            limit 1
        )
    )
$$;
CREATE FUNCTION rolecall.resume_parents(p_ids bigint[]) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_failed bigint[];
    v_going_on bigint[];
    v_lines int[];
begin
    if cardinality(p_ids) = 0 then
        return;
    end if;
    with parent as (
        update rolecall.tasks as task
        set children_info = summary.info
        from (
            select given.id, children.* from unnest(p_ids) as given (id)
            join rolecall.tasks as waiting using (id)
            cross join lateral rolecall.sum_up_children(
                waiting.id, waiting.fence, waiting.created_at, waiting.children_info
            ) as children
        ) as summary
        where task.id = summary.id
        returning task.id, task.gathers, task.line_id, summary.failed
    )
    select array_agg(parent.id) filter (where failed > 0), array_agg(parent.id) filter (where failed = 0 and gathers),
        array_agg(parent.line_id) filter (where failed = 0 and gathers)
    into v_failed, v_going_on, v_lines
    from parent;
    update rolecall.tasks as task
    set state = 'pending', step = 1, step_number = coalesce(task.step_number, task.step, 0) + 1, gathers = null, serial = null, open_children = null,
        attempt = 0, refunds = 0, worker_id = null, claimed_at = null, started_at = null, lease_until = null, deadline_at = null
    where task.id = any(v_going_on);
    perform rolecall.wake_lines(v_lines);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object('id', given.id) || case
            when given.id = any(v_failed) then '{"state": "failed", "error": "One or more child tasks failed"}'::jsonb
            else '{"state": "completed"}'
        end)
        from unnest(p_ids) as given (id)
        where (given.id = any(v_going_on)) is not true
    ));
end
$$;
CREATE FUNCTION rolecall.resume_role(p_role text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_paused boolean;
begin
    select paused_at is not null into v_paused from rolecall.roles where name = p_role for update;
    if v_paused is null then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    update rolecall.roles set paused_at = null, paused_until = null, paused_by = null where name = p_role and v_paused;
    perform rolecall.wake(array[p_role]) where v_paused;
    return v_paused;
end
$$;
CREATE FUNCTION rolecall.retry(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_retry(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
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
CREATE FUNCTION rolecall.revoke_api_key(p_id bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.require_durability();
    update rolecall.api_keys set revoked_at = rolecall.clock() where id = p_id and revoked_at is null;
    return found;
end
$$;
CREATE FUNCTION rolecall.rival_lines(p_line_id integer, p_due timestamp with time zone, p_id bigint, p_able boolean, p_now timestamp with time zone) RETURNS TABLE(line_id integer, priority smallint, due_before timestamp with time zone, id_before bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with worker as materialized (
        select distinct worker.roles, worker.handlers
        from rolecall.workers as worker
        join rolecall.lines as own on own.id = p_line_id
        where worker.stopped_at is null and worker.heartbeat_at > p_now - interval '5 min' and worker.command is null
            and (not p_able or (
                own.handler = any(worker.handlers) and (worker.roles = '{}' or own.role = any(worker.roles))
            ))
    )
    select line.line_id, line.priority,
        case when line.priority > own.priority then 'infinity' else p_due end,
        case when line.priority > own.priority then 0 else p_id end
    from rolecall.lines as own
    join rolecall.line_settings as line on line.priority >= own.priority
    where own.id = p_line_id
        and (line.role = own.role or not line.paused or line.paused_until <= p_now)
        and ((line.role = own.role and line.handler = own.handler) or exists (
            select from worker
            where line.handler = any(worker.handlers) and (worker.roles = '{}' or line.role = any(worker.roles))
        ))
$$;
CREATE FUNCTION rolecall.role_progress() RETURNS TABLE(role text, paused boolean, blocked bigint, scheduled bigint, ready bigint, parked bigint, running bigint, waiting bigint, waiting_since timestamp with time zone, current_root bigint, completed_last_minute bigint, failed_last_minute bigint, cancelled_last_minute bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
begin
    return query
    with open as (
        select line_id,
            count(*) filter (where state = 'blocked') as blocked,
            count(*) filter (where state = 'pending' and not parked and scheduled_for > v_now) as scheduled,
            count(*) filter (where state = 'pending' and not parked and scheduled_for <= v_now) as ready,
            count(*) filter (where parked) as parked,
            count(*) filter (where state = 'running') as running,
            count(*) filter (where state = 'waiting') as waiting,
            min(greatest(created_at, scheduled_for)) filter (where state = 'pending' and scheduled_for <= v_now) as waiting_since,
            min(id) filter (where parent_id is null and (state in ('running', 'waiting') or step is not null)) as begun_root,
            min(id) filter (where parent_id is null and state = 'pending') as next_root
        from rolecall.tasks
        group by line_id
    ),
    ended as (
        select line_id,
            count(*) filter (where state = 'completed') as completed,
            count(*) filter (where state = 'failed') as failed,
            count(*) filter (where state = 'cancelled') as cancelled
        from rolecall.finished_tasks
        where finished_at >= v_now - interval '1 min' and finished_at < v_now + interval '1 hour'
        group by line_id
    )
    select role.name, role.paused_at is not null,
        coalesce(sum(open.blocked), 0)::bigint, coalesce(sum(open.scheduled), 0)::bigint, coalesce(sum(open.ready), 0)::bigint,
        coalesce(sum(open.parked), 0)::bigint, coalesce(sum(open.running), 0)::bigint, coalesce(sum(open.waiting), 0)::bigint,
        min(open.waiting_since), coalesce(min(open.begun_root), min(open.next_root)),
        coalesce(sum(ended.completed), 0)::bigint, coalesce(sum(ended.failed), 0)::bigint, coalesce(sum(ended.cancelled), 0)::bigint
    from rolecall.roles as role
    left join rolecall.lines as line on line.role = role.name
    left join open on open.line_id = line.id
    left join ended on ended.line_id = line.id
    group by role.name
    order by role.name;
end
$$;
CREATE FUNCTION rolecall.roles_now() RETURNS TABLE(role text, paused boolean, ready bigint, scheduled bigint, running bigint, waiting_since timestamp with time zone, ended bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_until timestamptz := (select moment from rolecall.history_until where moment > v_now - interval '1 min');
begin
    return query
    with load as (
        select line.role, sum(backlog.ready)::bigint as ready, sum(backlog.scheduled)::bigint as scheduled,
            sum(backlog.running)::bigint as running, min(first.due) as waiting_since
        from rolecall.backlog(v_now) as backlog
        join rolecall.lines as line on line.id = backlog.line_id
        left join lateral (
            select greatest(task.created_at, task.scheduled_for) as due
            from rolecall.tasks as task
            where task.line_id = line.id and task.state = 'pending' and not task.parked and task.scheduled_for <= v_now
            order by task.scheduled_for, task.id
            limit 1
        ) as first on true
        group by line.role
    )
    select role.name, role.paused_at is not null and (role.paused_until <= v_now) is not true,
        coalesce(load.ready, 0), coalesce(load.scheduled, 0), coalesce(load.running, 0), load.waiting_since,
        case when v_until is not null then (
            select coalesce(sum(bin.completed + bin.failed), 0)
            from rolecall.history as bin
            where bin.role = role.name and bin.width = 10 and bin.at >= v_until - interval '1 min' and bin.at < v_until
        ) end
    from rolecall.roles as role
    left join load on load.role = role.name
    order by role.name;
end
$$;
CREATE FUNCTION rolecall.roll_up_counts(p_margin interval DEFAULT '00:00:05'::interval) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_settled timestamptz;
    v_from timestamptz;
    v_until timestamptz;
begin
    perform rolecall.require_read_committed();
    -- In the order of who drops a partition: first the table.
    lock table rolecall.finished_tasks in access share mode;
    select moment into v_from from rolecall.counted_until for update skip locked;
    if not found then
        return false;
    end if;
    v_settled := rolecall.settled_until(p_margin);
    v_until := least(v_settled, coalesce(
        date_trunc('day', nullif(v_from, '-infinity'), 'UTC') + interval '1 day',
        (select min(to_date(right(name, 8), 'YYYYMMDD')) from rolecall.old_partitions('rolecall.finished_tasks', 'infinity') as name)
            ::timestamp at time zone 'utc',
        v_settled
    ));
    -- However many processes ask, it is not done more often than it tells anything.
    if v_until = v_settled and v_until <= v_from + p_margin then
        return false;
    end if;
    with came as (
        select (finished_at at time zone 'utc')::date as day, line_id, state, count(*) as number
        from rolecall.finished_tasks
        where finished_at >= v_from and finished_at < v_until
        group by 1, 2, 3
    ),
    gone as (
        delete from rolecall.finished_counts
        where day in (select came.day from came union select less.day from rolecall.finished_counts as less where less.number < 0)
        returning day, line_id, state, number
    )
    insert into rolecall.finished_counts (day, line_id, state, number)
    select day, line_id, state, sum(number)
    from (select * from gone union all select * from came) as counted
    group by day, line_id, state
    having sum(number) <> 0;
    update rolecall.counted_until set moment = v_until;
    return v_until < v_settled;
end
$$;
CREATE FUNCTION rolecall.roll_up_history(p_margin interval DEFAULT '00:00:05'::interval) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_settled timestamptz;
    v_from timestamptz;
    v_until timestamptz;
    v_width int := 10;
    v_tier record;
begin
    perform rolecall.require_read_committed();
    select moment into v_from from rolecall.history_until for update skip locked;
    if not found then
        return false;
    end if;
    v_settled := rolecall.begin_of_bin(v_width, rolecall.settled_until(p_margin));
    if v_from = '-infinity' and v_settled > v_from then
        v_from := rolecall.begin_of_history(v_settled);
        update rolecall.history_until set began = v_from, moment = v_from;
    end if;
    v_until := least(v_settled, rolecall.begin_of_bin(3600, v_from) + interval '1 hour');
    if v_until <= v_from then
        return false;
    end if;
    -- An hour that was begun in narrow bins is ended in them.
    if v_from = rolecall.begin_of_bin(3600, v_from) then
        select min(width) into v_width from rolecall.history_tiers() where wider is null or v_from >= v_settled - kept;
    end if;
    perform rolecall.count_ended(v_width, v_from, v_until);
    perform rolecall.count_retried(v_width, v_from, v_until);
    if v_until = v_settled then
        perform rolecall.count_open(v_width, rolecall.begin_of_bin(v_width, v_until - interval '1 us'), rolecall.clock());
    end if;
    for v_tier in
        select tier.width, tier.wider, rolecall.begin_of_bin(tier.wider, v_from) as begun, rolecall.begin_of_bin(tier.wider, v_until) as over
        from rolecall.history_tiers() as tier
        where tier.wider is not null and tier.width >= v_width
        order by tier.width
    loop
        if v_tier.begun < v_tier.over then
            insert into rolecall.history
            select * from rolecall.history_bins(null, v_tier.wider, v_tier.width, v_tier.begun, v_tier.over);
        end if;
    end loop;
    update rolecall.history_until set moment = v_until;
    return v_until < v_settled;
end
$$;
CREATE FUNCTION rolecall.room_of_keys(p_keys text[]) RETURNS SETOF rolecall.key_room
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select wanted.key, room.capacity, case
        when cardinality(holder.slots) >= room.capacity then '{}'
        when room.capacity = 1 then '{1}'
        else array(
            select slot::smallint from generate_series(1, room.capacity) as slot
            where slot <> all(holder.slots)
            order by slot
            limit room.capacity - cardinality(holder.slots)
        )
    end
    from unnest(p_keys) as wanted (key)
    left join rolecall.keys as lock using (key)
    cross join lateral rolecall.capacity_of(wanted.key, coalesce(lock.capacity, lock.declared)) as room
    cross join lateral (
        select array(
            select task.key_slot from rolecall.tasks as task where task.key = wanted.key and task.key_slot is not null
        ) as slots
    ) as holder
$$;
CREATE FUNCTION rolecall.run_after_hooks(p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    if exists (select from rolecall.handlers where after_procedure is not null) then
        perform rolecall.run_hook(task.id, handler.after_procedure, task.payload)
        from rolecall.finished_tasks as task
        join rolecall.lines as line on line.id = task.line_id
        join rolecall.handlers as handler on handler.name = line.handler
        where task.id = any(p_ids) and task.state in ('completed', 'failed') and handler.after_procedure is not null;
    end if;
end
$$;
CREATE FUNCTION rolecall.run_before_hook(p_worker_id bigint, p_id bigint, p_fence integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_task record;
begin
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
CREATE FUNCTION rolecall.run_due_slots(p_schedule rolecall.schedules, p_slots timestamp with time zone[], p_come bigint, p_next timestamp with time zone) RETURNS TABLE(schedule text, task_id bigint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_chosen timestamptz[] := case p_schedule.misfire when 'all' then p_slots else p_slots[cardinality(p_slots):] end;
    v_missed bigint := p_come - cardinality(v_chosen);
    v_outcome text := case
        when p_schedule.misfire = 'skip' and v_chosen[1] < v_now - interval '1 minute' then 'missed'
        when p_schedule.overlap = 'skip' and rolecall.is_open(p_schedule.last_task_id, true) then 'skipped'
    end;
    v_slot timestamptz;
begin
    schedule := p_schedule.name;
    foreach v_slot in array v_chosen loop
        if v_outcome is null then
            task_id := rolecall.run_schedule(p_schedule, v_slot, v_missed);
        else
            insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed)
            values (p_schedule.id, v_slot, v_now, v_outcome, v_missed);
        end if;
        v_missed := 0;
        return next;
    end loop;
    update rolecall.schedules set next_run_at = p_next where id = p_schedule.id;
end
$$;
CREATE FUNCTION rolecall.run_for_drain(p_worker_id bigint, p_id bigint, p_fence integer, p_owns_transaction boolean) RETURNS TABLE(lost text, error text, interruption text, code text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    select run.lost, run.error into lost, error
    from rolecall.run_procedure(p_worker_id, p_id, p_fence, p_owns_transaction) as run;
    return next;
exception when query_canceled or others then
    interruption := sqlerrm;
    code := sqlstate;
    return next;
end
$$;
CREATE FUNCTION rolecall.run_hook(p_id bigint, p_procedure text, p_payload jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_current text := coalesce(current_setting('rolecall.task', true), '');
begin
    perform set_config('rolecall.task', p_id::text, true);
    perform rolecall.call_hook(p_procedure, p_payload);
    perform set_config('rolecall.task', v_current, true);
exception when others or assert_failure then
    raise warning 'hook % of task % failed: %', p_procedure, p_id, sqlerrm;
end
$$;
CREATE FUNCTION rolecall.run_procedure(p_worker_id bigint, p_id bigint, p_fence integer, p_owns_transaction boolean DEFAULT true) RETURNS TABLE(lost text, error text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_most_retries constant int := 3;
    v_retry int := 0;
    v_tried record;
begin
    perform rolecall.require_read_committed();
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
            'id', p_id, 'fence', p_fence, 'outcome', 'failed', 'error', left(error, 8000)
        ))) as finished;
    elsif lost is null then
        perform rolecall.run_after_hooks(array[p_id]);
    end if;
    perform set_config('rolecall.task', '', true);
    return next;
end
$$;
CREATE FUNCTION rolecall.run_schedule(p_schedule rolecall.schedules, p_slot timestamp with time zone, p_missed bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_slot text := coalesce(extract(epoch from p_slot)::bigint::text, 'now');
    v_task_id bigint;
    v_stood boolean;
    v_error text;
begin
    -- A subtransaction for one schedule: another's bad task must not keep it from running.
    begin
        select stored.ids[1], cardinality(stored.deduplicated) > 0 into v_task_id, v_stood
        from rolecall.store_tasks(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
            'role', p_schedule.role, 'handler', p_schedule.handler, 'priority', p_schedule.priority, 'key', p_schedule.key,
            'dedupe_key', format('schedule:%s:%s', p_schedule.id, v_slot),
            'scheduled_for', case
                when p_schedule.jitter > '0 s' then p_slot + rolecall.slot_offset(p_schedule.id, p_slot, p_schedule.jitter)
            end
        )) || jsonb_build_object('payload', p_schedule.payload)), null) as stored;
    exception
        when connection_exception or invalid_transaction_state or transaction_rollback or insufficient_resources
            or object_not_in_prerequisite_state or operator_intervention or system_error or internal_error or sqlstate 'RC090' then
            raise;
        when others then
            v_error := sqlerrm;
    end;
    insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed, task_id, error)
    values (
        p_schedule.id, p_slot, v_now,
        case when v_error is not null then 'refused' when v_stood then 'stood' else 'enqueued' end,
        p_missed, v_task_id, v_error
    );
    update rolecall.schedules
    set last_run_at = v_now, last_error = v_error, last_task_id = coalesce(v_task_id, last_task_id),
        last_task_count = (v_task_id is not null)::int
    where id = p_schedule.id;
    return v_task_id;
end
$$;
CREATE FUNCTION rolecall.scale_target(p_role text, p_most integer DEFAULT 10000) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select running.number + due.number
    from (
        select count(*) as number
        from rolecall.tasks as task
        where task.state = 'running' and task.line_id in (select id from rolecall.lines where role = p_role)
    ) as running
    cross join (
        select count(*) as number
        from (
            select from rolecall.line_settings as setting
            cross join lateral (
                select from rolecall.tasks as task
                where task.line_id = setting.line_id and task.state = 'pending' and not task.parked
                    and task.scheduled_for <= (select rolecall.clock())
                limit p_most
            ) as task
            where setting.role = p_role and not setting.paused
            limit p_most
        ) as counted
    ) as due
    where exists (select from rolecall.roles where name = p_role)
        or rolecall.refuse('RC031', format('there is no role %L', p_role))
$$;
CREATE FUNCTION rolecall.schedule_document(p_schedule rolecall.schedules) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select rolecall.without_nulls(jsonb_build_object(
        'name', p_schedule.name, 'role', p_schedule.role, 'handler', p_schedule.handler, 'payload', p_schedule.payload,
        'priority', p_schedule.priority, 'key', p_schedule.key, 'every', extract(epoch from p_schedule.every),
        'cron', p_schedule.cron, 'zone', p_schedule.zone, 'misfire', p_schedule.misfire, 'overlap', p_schedule.overlap,
        'jitter', extract(epoch from p_schedule.jitter), 'enabled', p_schedule.enabled, 'immutable', p_schedule.immutable
    ))
$$;
CREATE FUNCTION rolecall.serve(p_worker_id bigint, p_handlers text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    update rolecall.idle_marks set handlers = p_handlers where worker_id = p_worker_id and until > rolecall.clock();
    update rolecall.workers set handlers = p_handlers where id = p_worker_id and handlers <> p_handlers
$$;
CREATE FUNCTION rolecall.server_up_since() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_seen_at timestamptz;
begin
    select epoch.seen_at into v_seen_at
    from rolecall.server_epoch as epoch
    where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.seen_at <= rolecall.clock();
    if v_seen_at is null then
        -- The timeline is asked of nobody any more, as some servers refuse to tell it; its column goes with a later release.
        insert into rolecall.server_epoch as epoch (postmaster_started_at, timeline, seen_at)
        values (pg_postmaster_start_time(), '', rolecall.clock())
        on conflict (only_row) do update
        set postmaster_started_at = excluded.postmaster_started_at, seen_at = excluded.seen_at
        returning epoch.seen_at into v_seen_at;
    end if;
    return v_seen_at;
end
$$;
CREATE FUNCTION rolecall.set_idle_mark(p_worker_id bigint, p_idle boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
begin
    if p_idle is distinct from true then
        delete from rolecall.idle_marks as mark where mark.worker_id = p_worker_id and mark.until > v_now;
    elsif not exists (
        select from rolecall.idle_marks as mark where mark.worker_id = p_worker_id and mark.until > v_now + interval '4 min'
    ) then
        delete from rolecall.idle_marks as mark where mark.worker_id = p_worker_id and mark.until > v_now;
        insert into rolecall.idle_marks (role, worker_id, handlers, until)
        select served.role, worker.id, worker.handlers, v_now + interval '5 min'
        from rolecall.workers as worker
        cross join lateral unnest(case when worker.roles = '{}' then '{""}' else worker.roles end) as served (role)
        where worker.id = p_worker_id and worker.stopped_at is null;
    end if;
end
$$;
CREATE FUNCTION rolecall.set_key_capacity(p_pattern text, p_capacity integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_prefix text := rolecall.key_prefix(p_pattern);
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    perform rolecall.check_key_capacity(p_pattern, p_capacity);
    if v_prefix is null then
        if p_capacity is not null then
            perform rolecall.give_key_row(p_pattern);
        end if;
        update rolecall.keys set capacity = p_capacity where key = p_pattern;
    elsif p_capacity is not null then
        insert into rolecall.key_patterns (prefix, capacity) values (v_prefix, p_capacity)
        on conflict (prefix) do update set capacity = excluded.capacity;
    else
        delete from rolecall.key_patterns where prefix = v_prefix and declared is null;
        update rolecall.key_patterns set capacity = null where prefix = v_prefix;
    end if;
    perform rolecall.use_room(array[p_pattern]);
end
$$;
CREATE FUNCTION rolecall.set_password(p_name text, p_password_hash text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_id bigint;
begin
    perform rolecall.require_durability();
    update rolecall.people set password_hash = p_password_hash where name = p_name returning id into v_id;
    delete from rolecall.sessions where person_id = v_id;
    delete from rolecall.known_browsers where person_id = v_id;
    perform rolecall.unlock_person(p_name);
    return v_id is not null;
end
$$;
CREATE FUNCTION rolecall.settle_blocked(p_hits jsonb) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    perform from rolecall.tasks as task
    where task.id = any(array(select (hit -> 'id')::bigint from jsonb_array_elements(p_hits) as hit)) and task.state = 'blocked'
    order by task.id
    for update;
    with hit as (
        select * from jsonb_to_recordset(p_hits) as given (id bigint, number int, culprit bigint)
    ),
    moved as (
        update rolecall.tasks as task
        set open_needs = nullif(task.open_needs - hit.number, 0),
            state = case when task.open_needs > hit.number then 'blocked' else 'pending' end::rolecall.task_state,
            -- A child keeps its place with its tree; others do not jump the queue by an old date.
            scheduled_for = case
                when task.open_needs > hit.number or task.parent_id is not null then task.scheduled_for
                else greatest(task.scheduled_for, v_now)
            end
        from hit
        where task.id = hit.id and task.state = 'blocked' and hit.culprit is null
        returning task.line_id, task.state
    )
    select array_agg(moved.line_id) into v_lines from moved where moved.state = 'pending';
    perform rolecall.wake_lines(v_lines);
    return query select * from rolecall.end_tasks((
        select jsonb_agg(jsonb_build_object(
            'id', task.id, 'state', 'failed', 'error', format('dependency failed: task %s, which this one needs, did not complete', hit.culprit)
        ))
        from jsonb_to_recordset(p_hits) as hit (id bigint, culprit bigint)
        join rolecall.tasks as task using (id)
        where hit.culprit is not null and task.state = 'blocked'
    ));
end
$$;
CREATE FUNCTION rolecall.settle_keys(p_free bigint[], p_keys text[], p_claimant rolecall.claimant, p_limit integer, p_now timestamp with time zone) RETURNS TABLE(ids bigint[], slots smallint[], whole boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_locked text[] := rolecall.lock_keys(p_keys);
    -- Statements of their own from here on: they see what was committed before the locks were had.
    v_rooms rolecall.key_room[] := array(select room from rolecall.room_of_keys(v_locked) as room);
    v_offered int;
    v_won text[];
    v_full text[];
begin
    with candidate as materialized (
        select won.id, won.key, won.slot from rolecall.win_keys(v_rooms, p_claimant, p_now) as won
        union all
        select free.id, null, null from unnest(p_free) as free (id)
    ),
    picked as materialized (
        select candidate.*
        from candidate
        -- By the id of each, whatever the statistics say.
        cross join lateral (
            select task.line_id, task.scheduled_for from rolecall.tasks as task where task.id = candidate.id offset 0
        ) as task
        join rolecall.lines as line on line.id = task.line_id
        order by line.priority desc, task.scheduled_for, candidate.id
        limit p_limit
    )
    select
        (select count(*) from candidate), coalesce(array_agg(picked.id), '{}'), coalesce(array_agg(picked.slot), '{}'),
        array_agg(picked.key) filter (where picked.key is not null)
    into v_offered, ids, slots, v_won
    from picked;
    v_full := array(
        select room.key
        from unnest(v_rooms) as room
        left join (select key, count(*) as number from unnest(v_won) as key group by key) as won using (key)
        where cardinality(room.free) <= coalesce(won.number, 0)
    );
    whole := rolecall.park_losers(v_full, ids, p_now) and cardinality(v_locked) = cardinality(p_keys) and v_offered <= p_limit;
    return next;
end
$$;
CREATE FUNCTION rolecall.settle_parents(p_children rolecall.ending[]) RETURNS TABLE(keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_parents bigint[];
    v_numbers int[];
    v_last bigint[];
begin
    select array_agg(parent.parent_id), array_agg(parent.number) into v_parents, v_numbers
    from (
        select child.parent_id, count(*)::int as number
        from unnest(p_children) as child
        group by child.parent_id
    ) as parent;
    perform from rolecall.tasks as task where task.id = any(v_parents) order by task.id for update;
    v_last := array(
        select task.id
        from unnest(v_parents, v_numbers) as ended (id, number)
        join rolecall.tasks as task using (id)
        where task.state = 'waiting' and task.open_children = ended.number
        order by task.id
    );
    update rolecall.tasks as task
    set open_children = nullif(task.open_children - ended.number, 0)
    from unnest(v_parents, v_numbers) as ended (id, number)
    where task.id = ended.id and task.id <> all(v_last);
    return query select * from rolecall.resume_parents(v_last);
end
$$;
CREATE FUNCTION rolecall.settled_until(p_margin interval) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_until timestamptz := least(rolecall.clock(), clock_timestamp());
    v_oldest timestamptz;
    v_unknown text[];
begin
    select min(case when late.prepared then '-infinity' else late.began end),
        coalesce(array_agg(late.virtual_id) filter (where late.began is null and not late.prepared), '{}')
    into v_oldest, v_unknown
    from rolecall.late_committers() as late;
    for v_look in 1..10 loop
        exit when cardinality(v_unknown) = 0;
        perform pg_sleep(0.02);
        v_unknown := array(
            select lock.virtualtransaction from pg_catalog.pg_locks as lock
            where lock.locktype = 'virtualxid' and lock.virtualtransaction = any(v_unknown)
        );
    end loop;
    return case when cardinality(v_unknown) > 0 then '-infinity' else least(v_until, v_oldest) - p_margin end;
end
$$;
CREATE FUNCTION rolecall.share_out(p_line_ids integer[], p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(line_id integer, number integer)
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
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
CREATE FUNCTION rolecall.slot_offset(p_schedule_id bigint, p_slot timestamp with time zone, p_jitter interval) RETURNS interval
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select ('x' || substr(md5(format('%s:%s', p_schedule_id, extract(epoch from p_slot))), 1, 8))::bit(32)::bigint / 4294967296.0 * p_jitter
$$;
CREATE FUNCTION rolecall.spawn(p_parent_id bigint, p_tasks jsonb, p_serial boolean DEFAULT NULL::boolean) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return rolecall.try_to_spawn(p_parent_id, p_tasks, p_serial);
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.stands_beside(p_dedupe_key text, p_dedupe jsonb) RETURNS boolean
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select true
    where rolecall.dedupe_scope(p_dedupe) = 'pending' or exists (
        select from rolecall.tasks as task
        where task.dedupe_key = p_dedupe_key and task.dedupe_pending is not true
            and task.fence > 0 and task.chain_id = (p_dedupe ->> 'except_chain')::bigint
    )
$$;
CREATE FUNCTION rolecall.start(p_worker_id bigint, p_ids bigint[], p_fences integer[]) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
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
    return query
    select * from rolecall.lost_claims(p_worker_id, p_ids, p_fences)
    union all
    select claim.id, 'busy'
    from unnest(p_ids, p_fences) as claim (id, fence)
    cross join lateral (
        select owned.started_at
        from rolecall.tasks as owned
        where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
        offset 0
    ) as task
    where task.started_at is null;
end
$$;
CREATE FUNCTION rolecall.start_waiting(p_id bigint, p_result jsonb, p_gathers boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_task rolecall.tasks;
begin
    update rolecall.tasks as task
    set result = coalesce(p_result, task.result), gathers = p_gathers
    where task.id = p_id
    returning task.* into v_task;
    if v_task.open_children is null then
        return false;
    end if;
    insert into rolecall.task_events (task_id, at, kind, attempt, worker_id)
    values (p_id, rolecall.clock(), 'waiting', v_task.attempt, v_task.worker_id);
    update rolecall.tasks as task
    set state = 'waiting', worker_id = null, claimed_at = null, lease_until = null, deadline_at = null
    where task.id = p_id;
    return true;
end
$$;
CREATE FUNCTION rolecall.store_beside_others(p_tasks jsonb) RETURNS TABLE(ids bigint[], deduplicated bigint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    loop
        begin
            return query select * from rolecall.store_tasks(p_tasks, null);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
CREATE FUNCTION rolecall.store_needs(p_needy jsonb, p_batch_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    insert into rolecall.needs (task_id, position, name, needed_id, whole_chain, on_failure)
    select want.id, coalesce(known.number, 0) + want.n, want.name, case when want.chain_id is null then want.needed_id else coalesce(
            (select task.chain_id from rolecall.tasks as task where task.id = want.chain_id),
            (select task.chain_id from rolecall.find_finished(array[want.chain_id]) as task limit 1),
            want.chain_id
        ) end, want.chain_id is not null, want.on_failure
    from (
        select needy.id, item.n, item.need ->> 'name' as name, (item.need ->> 'chain')::bigint as chain_id,
            (item.need ->> 'item')::bigint + 1 as place,
            coalesce(item.need ->> 'on_failure', 'fail')::rolecall.need_rule as on_failure,
            case jsonb_typeof(item.need)
                when 'number' then item.need::bigint
                else coalesce(
                    (item.need ->> 'task')::bigint, (item.need ->> 'chain')::bigint, p_batch_ids[(item.need ->> 'item')::bigint + 1]
                )
            end as needed_id
        from jsonb_to_recordset(p_needy) as needy (id bigint, needs jsonb)
        cross join lateral jsonb_array_elements(needy.needs) with ordinality as item (need, n)
    ) as want
    left join lateral (select max(position) as number from rolecall.needs where needs.task_id = want.id) as known on true
    where case
            when p_batch_ids is null then want.needed_id <> want.id
            -- Another task may stand for one earlier in the batch: one that is younger.
            when want.place is not null then want.place < array_position(p_batch_ids, want.id)
            else want.needed_id < want.id
        end is true
        or case when want.needed_id = want.id
            then rolecall.refuse('RC043', format('task %s would wait for itself', want.id))
            else rolecall.refuse('RC040', format('task %s can need only what was enqueued before it', want.id))
        end;
exception when unique_violation then
    perform rolecall.refuse('RC040', 'two needs of one task have the same name');
end
$$;
CREATE FUNCTION rolecall.store_next(p_next_tasks jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_drafts jsonb;
    v_places rolecall.place[];
    v_stored record;
    v_stopped bigint[] := '{}';
    v_siblings record;
begin
    with done as (
        select * from jsonb_to_recordset(p_next_tasks) as given (
            next jsonb, id bigint, chain_id bigint, chain_index int, parent_id bigint, parent_fence int, depth int,
            priority int, scheduled_for timestamptz, needed boolean, on_failure rolecall.child_rule
        )
    ),
    draft as (
        select follow_up.draft, (null, null, done.id, null, null, null, null, null, null, null)::rolecall.place as place, done.id, n
        from done
        cross join lateral jsonb_array_elements(nullif(next -> 'follow_ups', 'null')) with ordinality as follow_up (draft, n)
        union all
        select done.next -> 'continuation', (
            chain_id, chain_index + 1, done.id, parent_id, parent_fence, depth, priority, null, needed, on_failure
        )::rolecall.place, done.id, 0
        from done
        where nullif(done.next -> 'continuation', 'null') is not null
    )
    select jsonb_agg(draft.draft order by draft.id, draft.n), array_agg(draft.place order by draft.id, draft.n)
    into v_drafts, v_places
    from draft;
    perform rolecall.refuse('RC040', format('the chain %s goes on already', link.chain_id))
    from rolecall.tasks as link
    where link.chain_index > 0
        and link.chain_id = any(array(select place.chain_id from unnest(v_places) as place where place.chain_index > 0));
    if v_drafts is not null then
        select * into v_stored from rolecall.store_tasks(v_drafts, v_places);
        perform rolecall.refuse_circle(array[link.id], link.id)
        from unnest(v_stored.ids) with ordinality as link (id, n)
        where v_drafts -> (link.n - 1)::int ? 'key' and v_places[link.n].chain_index > 0;
        v_stopped := array(
            select link.origin_id
            from unnest(v_places) with ordinality as link
            where link.chain_index > 0 and v_stored.ids[link.ordinality] = any(v_stored.deduplicated) and not exists (
                select from rolecall.tasks as task where task.id = v_stored.ids[link.ordinality] and task.chain_id = link.chain_id
            )
        );
        -- Only then: it looks into every day.
        if v_stopped <> '{}' then
            update rolecall.finished_tasks as task set continued = null where task.id = any(v_stopped);
        end if;
    end if;
    for v_siblings in
        select done.parent_id, done.parent_fence, done.next -> 'siblings' as drafts
        from jsonb_to_recordset(p_next_tasks) as done (next jsonb, id bigint, parent_id bigint, parent_fence int, depth int)
        where jsonb_array_length(nullif(done.next -> 'siblings', 'null')) > 0
        order by done.depth desc, done.parent_id, done.id
    loop
        perform rolecall.hold_needed(v_siblings.drafts, v_siblings.parent_id);
        perform from rolecall.tasks as task where task.id = v_siblings.parent_id for update;
        perform rolecall.add_children(v_siblings.parent_id, v_siblings.parent_fence, v_siblings.drafts, null);
    end loop;
    return v_stopped;
end
$$;
CREATE FUNCTION rolecall.store_schedule(p_said jsonb, p_declared jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_old rolecall.schedules;
    v_full jsonb;
    v_id bigint;
begin
    perform rolecall.require_durability();
    select * into v_old from rolecall.schedules where name = p_said ->> 'name' for update;
    v_full := rolecall.amended_schedule(case when p_declared is null then rolecall.schedule_document(v_old) else '{}' end, p_said);
    perform rolecall.check_schedule(v_full);
    perform rolecall.guard_schedule(v_old, v_full, p_declared);
    insert into rolecall.schedules as old (
        name, role, handler, payload, priority, key, every, cron, zone, misfire, overlap, jitter, enabled, immutable,
        next_run_at, created_at, declared
    )
    select
        given.name, coalesce(given.role, handler.role, given.handler), coalesce(given.handler, given.role),
        coalesce(given.payload, '{}'), coalesce(given.priority, 0), given.key, make_interval(secs => given.every), given.cron,
        coalesce(given.zone, 'UTC'), coalesce(given.misfire, 'one'), coalesce(given.overlap, 'queue'),
        make_interval(secs => coalesce(given.jitter, 0)), coalesce(given.enabled, true), coalesce(given.immutable, false),
        rolecall.next_plan(v_old, v_full, v_now), v_now, p_declared
    from jsonb_to_record(v_full) as given (
        name text, role text, handler text, payload jsonb, priority int, key text, every float8, cron text, zone text,
        misfire text, overlap text, jitter float8, enabled boolean, immutable boolean
    )
    left join rolecall.handlers as handler on handler.name = coalesce(given.handler, given.role)
    on conflict (name) do update
    set role = excluded.role, handler = excluded.handler, payload = excluded.payload, priority = excluded.priority,
        key = excluded.key, every = excluded.every, cron = excluded.cron, zone = excluded.zone, misfire = excluded.misfire,
        overlap = excluded.overlap, jitter = excluded.jitter, enabled = excluded.enabled, immutable = excluded.immutable,
        next_run_at = excluded.next_run_at, revision = old.revision + 1, declared = coalesce(p_declared, old.declared),
        edited_at = case when p_declared is null then v_now else old.edited_at end
    returning old.id into v_id;
    return v_id;
end
$$;
CREATE FUNCTION rolecall.store_tasks(p_tasks jsonb, p_places rolecall.place[]) RETURNS TABLE(ids bigint[], deduplicated bigint[])
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_later bigint[] := '{}';
    v_stored record;
    v_met record;
    v_needy jsonb;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    if p_tasks @? '$[*].dedupe' then
        v_later := rolecall.prepare_dedupe(p_tasks);
    end if;
    select * into v_stored from rolecall.insert_tasks(p_tasks, p_places, v_later);
    ids := coalesce(v_stored.ids, '{}');
    deduplicated := '{}';
    v_needy := v_stored.needy;
    if v_stored.refused is not null then
        select * into v_met from rolecall.meet_twins(p_tasks, p_places, v_stored.refused, ids);
        ids := v_met.ids;
        deduplicated := v_met.deduplicated;
        v_needy := coalesce(v_needy || v_met.needy, v_needy, v_met.needy);
    end if;
    if v_needy is not null then
        perform rolecall.link_needs(v_needy, ids);
    end if;
    if p_places is not null then
        perform rolecall.note_generated(p_places, ids, deduplicated);
    end if;
    return next;
end
$_$;
CREATE FUNCTION rolecall.stranded_work() RETURNS TABLE(role text, handler text, tasks bigint, workers bigint)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with moment as materialized (
        select rolecall.clock() as now
    ),
    active as (
        select worker.roles, worker.handlers from rolecall.workers as worker cross join moment
        where worker.stopped_at is null and worker.heartbeat_at > moment.now - interval '5 min' and worker.command is null
    ),
    due as (
        select setting.role, setting.handler, count(*) as number
        from rolecall.tasks as task
        join rolecall.line_settings as setting on setting.line_id = task.line_id
        cross join moment
        where task.state = 'pending' and not task.parked and task.scheduled_for <= moment.now
            and (not setting.paused or setting.paused_until <= moment.now)
        group by setting.role, setting.handler
    )
    select due.role, due.handler, due.number, serving.number
    from due
    cross join lateral (
        select count(*) as number, bool_or(due.handler = any(active.handlers)) as able
        from active
        where active.roles = '{}' or due.role = any(active.roles)
    ) as serving
    where serving.able is not true
    order by due.role, due.handler
$$;
CREATE FUNCTION rolecall.sum_up_children(p_parent_id bigint, p_fence integer, p_created_at timestamp with time zone, p_before jsonb) RETURNS TABLE(failed bigint, info jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
begin
    return query
    with child as materialized (
        select task.id, task.info, task.state <> 'completed' and coalesce(task.on_failure <> 'ignore', true) as shared
        from rolecall.finished_tasks as task
        where task.parent_id = p_parent_id and task.parent_fence = p_fence and task.finished_at >= p_created_at
        union all
        select 0, p_before, false
    )
    select
        (select count(*) from child where shared),
        (
            select jsonb_object_agg(key, case when numbers then to_jsonb(total) else last end)
            from (
                select fact.key, bool_and(jsonb_typeof(fact.value) = 'number') as numbers,
                    sum(case when jsonb_typeof(fact.value) = 'number' then fact.value::numeric end) as total,
                    (array_agg(fact.value order by child.id desc))[1] as last
                from child
                cross join lateral jsonb_each(child.info) as fact
                group by fact.key
            ) as facts
        );
end
$$;
CREATE FUNCTION rolecall.suspend_tasks(p_worker_id bigint, p_reports jsonb, p_endings rolecall.ending[]) RETURNS TABLE(ids bigint[], keys text[], endings rolecall.ending[])
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_report record;
    v_childless bigint[] := '{}';
begin
    ids := '{}';
    perform rolecall.hold_parents(p_worker_id, p_reports, p_endings);
    for v_report in
        select report.id, report.result, report.next, nullif(report.next -> 'children', 'null') as children, jsonb_build_object(
            'next', report.next - 'children', 'id', report.id, 'parent_id', task.parent_id, 'parent_fence', task.parent_fence,
            'depth', task.depth
        ) as others
        from (
            select * from jsonb_to_recordset(p_reports) as given (id bigint, fence int, outcome text, result jsonb, next jsonb)
            where given.outcome = 'completed'
            order by given.id
        ) as report
        cross join lateral (
            select owned.parent_id, owned.parent_fence, owned.depth
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
                and owned.cancel_requested_at is null
            for update
        ) as task
    loop
        if nullif(v_report.next -> 'continuation', 'null') is not null then
            perform rolecall.refuse('RC042', format('task %s has children: only its last step may continue the chain', v_report.id));
        end if;
        ids := ids || v_report.id;
        if v_report.next is not null then
            perform rolecall.store_next(jsonb_build_array(v_report.others));
        end if;
        if v_report.children is not null then
            perform rolecall.add_children(v_report.id, null, v_report.children, (v_report.next ->> 'serial')::boolean);
        end if;
        if not rolecall.start_waiting(v_report.id, v_report.result, (v_report.next ->> 'gathers')::boolean) then
            v_childless := v_childless || v_report.id;
        end if;
    end loop;
    select resumed.keys, resumed.endings into keys, endings from rolecall.resume_parents(v_childless) as resumed;
    return next;
end
$$;
CREATE FUNCTION rolecall.take_request(p_caller text, p_key text, p_digest bytea) RETURNS TABLE(status integer, location text, body text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_kept rolecall.requests;
begin
    if not pg_try_advisory_xact_lock(hashtextextended(format('%s %s', p_caller, p_key), 2104)) then
        perform rolecall.refuse('RC060', 'a request with this key is under way: ask again for its answer');
    end if;
    select * into v_kept from rolecall.requests as request
    where request.caller = p_caller and request.key = p_key and request.answered_at > rolecall.clock() - interval '1 day';
    if not found then
        return;
    end if;
    if v_kept.digest <> p_digest then
        perform rolecall.refuse('RC061', 'this key was used for another request: each needs a key of its own');
    end if;
    return query select v_kept.status, v_kept.location, v_kept.body;
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
CREATE FUNCTION rolecall.tasks_of_chain(p_chain_id bigint) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    AS $$
    select task.id from rolecall.tasks as task where task.id = p_chain_id and task.chain_index = 0
    union all
    select task.id from rolecall.tasks as task where task.chain_id = p_chain_id and task.chain_index > 0
    union all
    select task.id from rolecall.finished_tasks as task where task.id = p_chain_id and task.chain_index = 0
    union all
    select task.id from rolecall.finished_tasks as task where task.chain_id = p_chain_id and task.chain_index > 0
$$;
CREATE FUNCTION rolecall.tasks_of_chains(p_chain_ids bigint[]) RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select array(select task.id from unnest(p_chain_ids) as chain (id) cross join lateral rolecall.tasks_of_chain(chain.id) as task)
$$;
CREATE FUNCTION rolecall.tell_intakes(p_worker_id bigint, p_intakes text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    update rolecall.workers set intakes = p_intakes where id = p_worker_id
$$;
CREATE FUNCTION rolecall.tell_workers(p_worker_ids bigint[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    select rolecall.notify('rolecall_cancel', worker.id::text)
    from (select distinct id from unnest(p_worker_ids) as given (id) where id is not null) as worker
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
CREATE FUNCTION rolecall.touch_api_key(p_id bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    update rolecall.api_keys set last_used_at = rolecall.clock()
    where id = (
        select stale.id from rolecall.api_keys as stale
        where stale.id = p_id
            and (stale.last_used_at is null or stale.last_used_at < rolecall.clock() - interval '1 minute')
        for update skip locked
    )
$$;
CREATE FUNCTION rolecall.touch_session(p_digest bytea) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    AS $$
    update rolecall.sessions set last_used_at = rolecall.clock()
    where digest = (select used.digest from rolecall.sessions as used where used.digest = p_digest for update skip locked)
$$;
CREATE FUNCTION rolecall.transactions_elsewhere() RETURNS xid[]
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select array(
        select session.backend_xid
        from pg_catalog.pg_stat_activity as session
        where session.backend_xid is not null and (
            session.datid is distinct from (select oid from pg_catalog.pg_database where datname = current_database())
            or session.backend_type = 'autovacuum worker'
        )
    );
$$;
CREATE FUNCTION rolecall.tree(p_root_id bigint) RETURNS TABLE(id bigint, parent_id bigint, depth integer, handler text, state rolecall.task_state, info jsonb, error text, started_at timestamp with time zone, finished_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    with recursive below as (
        select task.id, null::bigint as parent_id, 0 as level, task.handler, task.state, task.info, task.error,
            task.started_at, task.finished_at
        from rolecall.all_tasks as task
        where task.id = p_root_id
        union all
        select child.id, below.id, below.level + 1, child.handler, child.state, child.info, child.error,
            child.started_at, child.finished_at
        from below
        cross join lateral (
            select task.* from rolecall.all_tasks as task where task.parent_id = below.id offset 0
        ) as child
    )
    select * from below order by below.level, below.id
$$;
CREATE FUNCTION rolecall.trigger(p_ids bigint[]) RETURNS TABLE(task_id bigint, scheduled_for timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_trigger(p_ids);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
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
    if rolecall.is_open(v_schedule.last_task_id, true) then
        perform rolecall.hasten(rolecall.open_end_of_chain(v_schedule.last_task_id));
        insert into rolecall.schedule_runs (schedule_id, at, outcome, missed, task_id)
        values (v_schedule.id, rolecall.clock(), 'stood', 0, v_schedule.last_task_id);
        return v_schedule.last_task_id;
    end if;
    v_task_id := rolecall.run_schedule(v_schedule, null, 0);
    if v_task_id is null then
        perform rolecall.refuse('RC021', format('schedule %s: %s', p_name, (
            select last_error from rolecall.schedules where name = p_name
        )));
    end if;
    return v_task_id;
end
$$;
CREATE FUNCTION rolecall.try_procedure(p_worker_id bigint, p_id bigint, p_fence integer, p_owns_transaction boolean) RETURNS TABLE(lost text, code text, error text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
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
CREATE FUNCTION rolecall.try_to_cancel(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_all bigint[] := rolecall.with_open_descendants(p_ids);
    v_asked bigint[];
    v_losses jsonb;
    v_let_go record;
begin
    perform rolecall.hold_tasks(v_all);
    v_asked := rolecall.request_cancellation(v_all);
    select jsonb_agg(jsonb_build_object('id', task.id, 'reason', 'cancelled')) into v_losses
    from rolecall.tasks as task
    where task.id = any(v_all) and task.state <> 'running';
    select * into v_let_go from rolecall.let_go(v_losses);
    v_all := rolecall.with_open_descendants(v_all);
    if exists (select from rolecall.tasks where id = any(v_all) and id <> all(v_asked)) then
        perform rolecall.refuse('RC090', 'a task came or was claimed while others were waited for');
    end if;
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
    return query
    select given.id, case
        when given.id = any(v_asked) then 'requested'
        when given.id = any(v_let_go.ids) then 'cancelled'
        when exists (select from rolecall.find_finished(array[given.id])) then 'finished'
        else 'missing'
    end
    from unnest(p_ids) as given (id);
end
$$;
CREATE FUNCTION rolecall.try_to_delete_chains(p_ids bigint[], p_cascade boolean) RETURNS TABLE(chain_id bigint, tasks integer)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_held bigint[] := rolecall.hold_trees(rolecall.tasks_of_chains(rolecall.chains_with_all_below(p_ids, p_cascade)));
    v_chains bigint[] := rolecall.chains_with_all_below(p_ids, p_cascade);
    v_ids bigint[] := rolecall.tasks_of_chains(v_chains);
begin
    if exists (select from rolecall.tasks as task where task.id = any(v_ids) and task.id <> all(v_held)) then
        perform rolecall.refuse('RC090', 'a task came while others were waited for');
    end if;
    return query
    select chain.id, (select count(*)::int from rolecall.tasks_of_chain(chain.id)) from unnest(v_chains) as chain (id);
    perform rolecall.refuse_needed_chains(v_ids);
    perform rolecall.forget_tasks(v_ids);
end
$$;
CREATE FUNCTION rolecall.try_to_end(p_ends jsonb) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_ends jsonb := (
        select jsonb_agg(item.doc order by item.id)
        from (select distinct on (id) id, doc from jsonb_array_elements(p_ends) as doc, cast(doc ->> 'id' as bigint) as id) as item
    );
    v_ids bigint[] := array(select (item ->> 'id')::bigint from jsonb_array_elements(v_ends) as item);
    v_held bigint[] := rolecall.hold_trees(v_ids);
    v_next jsonb := rolecall.next_of_ends(v_ends);
    v_below record;
    v_ended record;
begin
    select * into v_below from rolecall.cancel_below(array(
        select (item ->> 'id')::bigint from jsonb_array_elements(v_ends) as item where item ->> 'state' = 'completed'
    ), v_ids);
    perform rolecall.tell_workers(array(select task.worker_id from rolecall.tasks as task where task.id = any(v_ids)));
    select * into v_ended from rolecall.end_tasks((
        select jsonb_agg(item || jsonb_build_object(
            'outside', true, 'fence', task.fence + 1, 'continued', nullif(item -> 'next' -> 'continuation', 'null') is not null,
            'error', coalesce(nullif(item ->> 'error', ''), 'failed from outside')
        ))
        from jsonb_array_elements(v_ends) as item
        join rolecall.tasks as task on task.id = (item ->> 'id')::bigint
    ));
    if v_next is not null then
        perform rolecall.store_next(v_next);
    end if;
    perform rolecall.conclude(v_ended.endings || v_below.endings, v_ended.keys || v_below.keys);
    return query
    select (item ->> 'id')::bigint, case
        when (item ->> 'id')::bigint = any(v_held) then item ->> 'state'
        when exists (select from rolecall.find_finished(array[(item ->> 'id')::bigint])) then 'finished'
        else 'missing'
    end
    from jsonb_array_elements(p_ends) as item;
end
$$;
CREATE FUNCTION rolecall.try_to_finish(p_worker_id bigint, p_reports jsonb) RETURNS TABLE(task_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
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
$_$;
CREATE FUNCTION rolecall.try_to_log_in(p_name bytea, p_network bytea, p_browser bytea, p_most integer, p_most_of_name integer, p_lockout interval, OUT wait double precision, OUT is_last boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz;
    v_counters bytea[] := array[p_name, p_network];
    v_counter bytea;
begin
    if exists (
        select from rolecall.known_browsers as browser
        join rolecall.people as person on person.id = browser.person_id
        where browser.digest = p_browser and sha256(convert_to(person.name, 'UTF8')) = p_name
    ) then
        v_counters := array[p_browser];
    end if;
    for v_counter in select each.digest from unnest(v_counters) as each (digest) order by each.digest loop
        insert into rolecall.login_attempts (digest, name_digest, attempts, last_at)
        values (v_counter, p_name, 0, rolecall.clock()) on conflict do nothing;
        perform from rolecall.login_attempts as counter where counter.digest = v_counter for update;
    end loop;
    -- Only now: whoever was waited for here has read the clock later than this call began.
    v_now := rolecall.clock();
    select extract(epoch from max(counter.locked_until) - v_now) into wait
    from rolecall.login_attempts as counter where counter.digest = any(v_counters) and counter.locked_until > v_now;
    is_last := false;
    if wait is null then
        with counted as (
            update rolecall.login_attempts as counter
            set attempts = next.attempts, last_at = v_now, locked_until = case when next.attempts >= next.most then v_now + p_lockout end
            from (
                select
                    old.digest, case when old.digest = p_name then p_most_of_name else p_most end as most,
                    1 + case when old.locked_until is null and old.last_at > v_now - p_lockout then old.attempts else 0 end as attempts
                from rolecall.login_attempts as old where old.digest = any(v_counters)
            ) as next
            where counter.digest = next.digest
            returning counter.locked_until
        )
        select bool_or(counted.locked_until is not null) into is_last from counted;
    end if;
end
$$;
CREATE FUNCTION rolecall.try_to_make_partitions(p_days_ahead integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_today date := (rolecall.clock() at time zone 'utc')::date;
    v_made int := 0;
begin
    for v_ahead in 0..p_days_ahead loop
        v_made := v_made
            + rolecall.make_partition('finished_tasks', 'finished_at', v_today + v_ahead)
            + rolecall.make_partition('task_events', 'at', v_today + v_ahead);
    end loop;
    return v_made;
end
$$;
CREATE FUNCTION rolecall.try_to_release(p_worker_id bigint, p_claims jsonb) RETURNS TABLE(task_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_losses jsonb;
    v_let_go record;
begin
    return query
    select lost.task_id, lost.reason
    from (
        select array_agg(claim.id) as ids, array_agg(claim.fence) as fences
        from jsonb_to_recordset(p_claims) as claim (id bigint, fence int)
    ) as given
    cross join lateral rolecall.lost_claims(p_worker_id, given.ids, given.fences) as lost;
    with owned as (
        select task.id, task.started_at
        from (select * from jsonb_to_recordset(p_claims) as given (id bigint, fence int) order by given.id) as claim
        cross join lateral (
            select owned.id, owned.started_at
            from rolecall.tasks as owned
            where owned.id = claim.id and owned.fence = claim.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select jsonb_agg(jsonb_build_object('id', id, 'reason', case when started_at is null then 'returned' else 'shutdown' end))
    into v_losses
    from owned;
    select * into v_let_go from rolecall.let_go(v_losses);
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
end
$$;
CREATE FUNCTION rolecall.try_to_rescue(p_expired jsonb) RETURNS TABLE(task_id bigint, state rolecall.task_state)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_let_go record;
begin
    select * into v_let_go from rolecall.let_go(p_expired);
    perform rolecall.end_sessions(v_let_go.ids);
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
    return query select * from unnest(v_let_go.ids, v_let_go.states);
end
$$;
CREATE FUNCTION rolecall.try_to_retry(p_ids bigint[]) RETURNS TABLE(task_id bigint, outcome text)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_back bigint[];
begin
    perform rolecall.hold_for_retry(p_ids);
    v_back := rolecall.bring_back(p_ids);
    perform rolecall.await_needs_again(v_back);
    perform rolecall.wake_lines(array(
        select task.line_id from rolecall.tasks as task
        where task.id = any(v_back) and task.state = 'pending'
    ));
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
CREATE FUNCTION rolecall.try_to_spawn(p_parent_id bigint, p_tasks jsonb, p_serial boolean) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_serial boolean;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    perform rolecall.hold_needed(p_tasks, p_parent_id);
    select case when task.open_children is not null then task.serial end into v_serial
    from rolecall.tasks as task
    where task.id = p_parent_id and task.state in ('running', 'waiting')
    for update;
    if not found then
        perform rolecall.refuse('RC044', format('Parent task %s not found among those that run or wait', p_parent_id));
    elsif v_serial <> p_serial then
        perform rolecall.refuse('RC044', format(
            'the children of task %s are %s', p_parent_id, case when v_serial then 'serial' else 'concurrent' end
        ));
    end if;
    return rolecall.add_children(p_parent_id, null, p_tasks, p_serial);
end
$$;
CREATE FUNCTION rolecall.try_to_trigger(p_ids bigint[]) RETURNS TABLE(task_id bigint, scheduled_for timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_odd record;
    v_lines int[];
begin
    perform rolecall.hold_tasks(p_ids);
    select given.id, task.state into v_odd
    from unnest(p_ids) with ordinality as given (id, n)
    left join rolecall.all_tasks as task on task.id = given.id
    where task.state is distinct from 'pending'
    order by given.n
    limit 1;
    if found then
        raise exception using detail = v_odd.id::text, errcode = case when v_odd.state is null then 'RC002' else 'RC003' end,
            message = coalesce(
                format('task %s cannot be triggered: it is not pending but ', v_odd.id) || v_odd.state,
                format('there is no task %s', v_odd.id)
            );
    end if;
    with due as (
        update rolecall.tasks as task
        set scheduled_for = v_now
        where task.id = any(p_ids) and task.scheduled_for > v_now
        returning task.id, task.line_id, task.attempt
    ),
    logged as (
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select id, v_now, 'triggered', attempt from due order by id
    )
    select array_agg(due.line_id) into v_lines from due;
    perform rolecall.wake_lines(v_lines);
    return query
    select task.id, task.scheduled_for
    from unnest(p_ids) with ordinality as given (id, n)
    join rolecall.tasks as task on task.id = given.id
    order by given.n;
end
$$;
CREATE FUNCTION rolecall.uncount_finished() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_until timestamptz;
begin
    if not exists (select from gone) then
        return null;
    end if;
    select moment into v_until from rolecall.counted_until for share;
    insert into rolecall.finished_counts (day, line_id, state, number)
    select (finished_at at time zone 'utc')::date, line_id, state, -count(*)
    from gone
    where finished_at < v_until
    group by 1, 2, 3;
    return null;
end
$$;
CREATE FUNCTION rolecall.unfit_since(p_task_id bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select min(event.at) from rolecall.task_events as event where event.task_id = p_task_id and event.kind = 'misfit'
$$;
CREATE FUNCTION rolecall.unfitting_tasks(p_limit integer) RETURNS SETOF jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_now timestamptz := rolecall.clock();
begin
    return query
    select jsonb_build_object('id', old.id, 'reason', 'misfit', 'final', true, 'error', old.error)
    from rolecall.lines as line
    cross join lateral (
        select task.id, task.error
        from rolecall.tasks as task
        where task.line_id = line.id and task.state = 'pending' and not task.parked and task.scheduled_for <= v_now
            and rolecall.unfit_since(task.id) < v_now - interval '1 hour'
        order by task.scheduled_for, task.id
        limit p_limit
        for update skip locked
    ) as old
    where line.misfit_for <> '{}'
    limit p_limit;
end
$$;
CREATE FUNCTION rolecall.unlock_person(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_name constant bytea := sha256(convert_to(p_name, 'UTF8'));
begin
    perform rolecall.require_durability();
    delete from rolecall.login_attempts where digest = v_name or name_digest = v_name;
    return exists (select from rolecall.people where name = p_name);
end
$$;
CREATE FUNCTION rolecall.unpark(p_after text DEFAULT ''::text, p_limit integer DEFAULT 1000) RETURNS TABLE(ids bigint[], reached text)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
    v_keys text[];
    v_back bigint[];
begin
    perform rolecall.require_read_committed();
    v_keys := array(
        with recursive step as (
            (
                select task.key from rolecall.tasks as task
                where task.state = 'pending' and task.key is not null and task.key > p_after
                order by task.key
                limit 1
            )
            union all
            select next.key
            from step
            cross join lateral (
                select task.key from rolecall.tasks as task
                where task.state = 'pending' and task.key is not null and task.key > step.key
                order by task.key
                limit 1
            ) as next
        )
        select step.key from step limit p_limit
    );
    if cardinality(v_keys) = p_limit then
        reached := v_keys[p_limit];
    end if;
    v_keys := rolecall.lock_keys(array(select distinct head.key from rolecall.parked_heads(v_keys) as head order by head.key));
    -- A statement of its own: what looked forgotten may have been on its way, brought back by whoever had the key's lock.
    v_back := array(
        select task.id from rolecall.tasks as task
        where task.id = any(array(select head.id from rolecall.parked_heads(v_keys) as head)) and task.state = 'pending'
        order by task.id
        for update skip locked
    );
    update rolecall.tasks set parked = false where id = any(v_back);
    perform rolecall.wake_lines(array(select task.line_id from rolecall.tasks as task where task.id = any(v_back)));
    ids := array(
        select task.id from rolecall.tasks as task
        join rolecall.lines as line on line.id = task.line_id
        where task.id = any(v_back) and not exists (
            select from rolecall.tasks as other where other.key = task.key and other.key_slot is not null
        ) and not exists (
            select from rolecall.tasks as other
            join rolecall.lines as other_line on other_line.id = other.line_id
            where other.key = task.key and other.state = 'pending' and not other.parked and other.id <> all(v_back)
                and other.scheduled_for <= rolecall.clock() and (other_line.role, other_line.handler) = (line.role, line.handler)
        )
        order by task.id
    );
    if ids <> '{}' then
        perform rolecall.require_durability();
        insert into rolecall.task_events (task_id, at, kind, attempt)
        select task.id, rolecall.clock(), 'unparked', task.attempt from rolecall.tasks as task where task.id = any(ids) order by task.id;
    end if;
    return next;
end
$$;
CREATE FUNCTION rolecall.unpark_due(p_limit integer DEFAULT 1000) RETURNS TABLE(ids bigint[], more boolean)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_place text;
    v_reached text;
begin
    select pass.place into v_place from rolecall.unpark_pass as pass where pass.next_at <= v_now for update skip locked;
    if not found then
        return;
    end if;
    select step.ids, step.reached into ids, v_reached from rolecall.unpark(v_place, p_limit) as step;
    more := v_reached is not null;
    update rolecall.unpark_pass
    set place = coalesce(v_reached, ''), next_at = v_now + case when more then '0 s' else '1 min' end::interval;
    return next;
end
$$;
CREATE FUNCTION rolecall.unpark_heads(p_keys text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
    v_wanted text[];
    v_heads bigint[];
    v_lines int[];
begin
    if p_keys is null then
        return '{}';
    end if;
    perform from rolecall.keys where key = any(p_keys) order by key for update;
    -- Statements of their own: they see what was parked before the locks were had.
    v_wanted := array(
        select wanted.key from unnest(p_keys) as wanted (key)
        where exists (select from rolecall.tasks as task where task.key = wanted.key and task.state = 'pending' offset 0)
    );
    if v_wanted = '{}' then
        return '{}';
    end if;
    select array_agg(head.id order by head.id), array_agg(head.line_id) into v_heads, v_lines
    from rolecall.parked_heads(v_wanted) as head;
    if v_heads is null then
        return '{}';
    end if;
    update rolecall.tasks set parked = false where id = any(v_heads) and state = 'pending';
    perform rolecall.wake_lines(v_lines);
    return v_heads;
end
$$;
CREATE FUNCTION rolecall.use_room(p_patterns text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    perform rolecall.unpark_heads(array(
        select distinct head.key from rolecall.parked_heads(rolecall.keys_meant(p_patterns)) as head
    ));
end
$$;
CREATE FUNCTION rolecall.use_token(p_token text, p_end jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_id bigint := (
        select token.task_id from rolecall.task_tokens as token
        where token.digest = sha256(convert_to(p_token, 'UTF8')) and token.expires_at > rolecall.clock()
    );
    v_outcome text := (
        select ended.outcome from rolecall.end_from_outside(jsonb_build_array(p_end || jsonb_build_object('id', v_id))) as ended
        where v_id is not null
    );
begin
    -- One answer for all: what a stranger tries must tell him nothing.
    if v_outcome is null or v_outcome in ('finished', 'missing') then
        perform rolecall.refuse('RC004', 'the token is unknown, used or expired, or its task has ended');
    end if;
    delete from rolecall.task_tokens where task_id = v_id;
    return v_id;
end
$$;
CREATE FUNCTION rolecall.wait_longer() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    -- Below a second, after which Postgres itself would end one of two that wait for each other, with an error.
    v_most constant interval := '800 ms';
    v_now constant interval := current_setting('lock_timeout');
begin
    -- Who waits for what was let go must first wake up: on a busy machine it is all taken again before that.
    perform pg_sleep(extract(epoch from v_now) * random() / 5);
    perform set_config('lock_timeout', round(extract(epoch from least(2 * v_now, v_most)) * (600 + 400 * random()))::text, true);
end
$$;
CREATE FUNCTION rolecall.wake(p_roles text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select rolecall.notify('rolecall_wake', role)
    from unnest(p_roles) as role
    where exists (
        select from unnest(array[role, '']) as served (role)
        join rolecall.idle_marks as mark using (role)
        where mark.until > rolecall.clock()
    )
$$;
CREATE FUNCTION rolecall.wake_lines(p_line_ids integer[]) RETURNS void
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    select rolecall.notify('rolecall_wake', woken.role || case
        when cardinality(woken.ids) = woken.number then ':' || array_to_string(woken.ids, ',') else ''
    end)
    from (
        select due.role, due.number, array(
            select mark.worker_id
            from unnest(array[due.role, '']) as served (role)
            cross join lateral (
                (
                    select mark.worker_id, 0 as round from rolecall.idle_marks as mark
                    where mark.role = served.role and mark.until >= due.chance and due.handler = any(mark.handlers)
                    order by mark.until
                    limit least(due.number, 20)
                )
                union all
                (
                    select mark.worker_id, 1 from rolecall.idle_marks as mark
                    where mark.role = served.role and mark.until > due.now and mark.until < due.chance
                        and due.handler = any(mark.handlers)
                    order by mark.until desc
                    limit least(due.number, 20)
                )
            ) as mark
            order by mark.round
            limit least(due.number, 20)
        ) as ids
        from (
            select line.role, line.handler, given.now, given.number + 1 as number,
                -- Marks of workers that live end four to five minutes from now; those of dead ones, before that, come last.
                given.now + interval '4 min' + random() * interval '1 min' as chance
            from (
                select line_id, count(*) as number, rolecall.clock() as now
                from unnest(p_line_ids) as line_id
                group by line_id
            ) as given
            join rolecall.lines as line on line.id = given.line_id
        ) as due
    ) as woken
    where woken.ids <> '{}'
$$;
CREATE FUNCTION rolecall.wake_others(p_worker_id bigint, p_roles text[], p_handlers text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    perform rolecall.set_idle_mark(p_worker_id, false);
    v_lines := array(
        select line.line_id
        from rolecall.lines_of_claim(rolecall.open_lines(), (p_worker_id, p_roles, p_handlers, false)::rolecall.claimant, v_now) as line
    );
    perform rolecall.renew_floors(v_lines, v_now);
    -- Whoever comes after the first twenty is woken by those who claim them.
    perform rolecall.wake_lines(array(
        select share.line_id
        from rolecall.share_out(v_lines, 20, '{}', v_now) as share
        cross join generate_series(1, share.number)
    ));
end
$$;
CREATE FUNCTION rolecall.walk_line(p_line_id integer, p_claimant rolecall.claimant, p_after rolecall.floor, p_limit integer, p_taken bigint[], p_now timestamp with time zone) RETURNS TABLE(ids bigint[], slots smallint[], keyed bigint[], reached rolecall.floor)
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
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
        -- A parent between two steps has its key already.
        select count(*), array_agg(seen.id) filter (where seen.key is null or seen.key_slot is not null),
            array_agg(distinct seen.key) filter (where seen.key is not null and seen.key_slot is null),
            (array_agg(seen.scheduled_for))[count(*)], (array_agg(seen.id))[count(*)]
        into v_seen, v_free, v_keys, v_after.scheduled_for, v_after.id
        from (
            select task.id, task.key, task.key_slot, task.scheduled_for
            from rolecall.tasks as task
            where task.line_id = p_line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) > (v_after.scheduled_for, v_after.id)
                and task.scheduled_for <= p_now and task.id <> all(p_taken)
                and (task.key is null or task.key_slot is not null or task.key <> all(v_met))
            order by task.scheduled_for, task.id
            limit v_step
            for update skip locked
        ) as seen;
        exit when v_seen = 0;
        if v_keys is null then
            v_whole := v_whole and v_seen <= p_limit - cardinality(ids);
            v_free := v_free[1:p_limit - cardinality(ids)];
            ids := ids || v_free;
            slots := slots || array_fill(null::smallint, array[cardinality(v_free)]);
        else
            select * into v_won from rolecall.settle_keys(
                v_free, v_keys, p_claimant, p_limit - cardinality(ids), p_now
            );
            ids := ids || v_won.ids;
            slots := slots || v_won.slots;
            keyed := keyed || array(select won.id from unnest(v_won.ids, v_won.slots) as won (id, slot) where won.slot is not null);
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
CREATE FUNCTION rolecall.wanted_of_partition(p_name text, p_held bigint[], p_now timestamp with time zone, p_limit integer) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$
declare
    v_ids bigint[];
begin
    execute format(
        'select array(
            select old.id from rolecall.%I as old
            where (old.parent_id is not null or old.chain_index > 0 or old.continued or old.id = any($1))
                and rolecall.is_wanted(old.chain_id, old.parent_id, $1, $2)
            limit $3
        )', p_name
    ) into v_ids using p_held, p_now, p_limit;
    return v_ids;
end
$_$;
CREATE FUNCTION rolecall.welcome_browser(p_person_id bigint, p_name bytea, p_network bytea, p_browser bytea, p_new bytea) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
begin
    delete from rolecall.login_attempts where digest in (p_name, p_network, p_browser);
    update rolecall.known_browsers set last_seen_at = rolecall.clock() where digest = p_browser and person_id = p_person_id;
    if found then
        return false;
    end if;
    insert into rolecall.known_browsers (digest, person_id, last_seen_at) values (p_new, p_person_id, rolecall.clock());
    return true;
end
$$;
CREATE FUNCTION rolecall.why(p_task_id bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with open as materialized (
        select task, setting.role, setting.handler, setting.lease, setting.misfit_for, moment.now, (task).state as state,
            (task).state = 'pending' and (task).scheduled_for <= moment.now as due
        from (select rolecall.clock() as now) as moment
        join rolecall.tasks as task on task.id = p_task_id
        join rolecall.line_settings as setting on setting.line_id = task.line_id
    ),
    known as (
        select jsonb_build_object(
            'at', open.now,
            'waits', rolecall.held_up_by(open.task),
            'rescue_from', case when open.state = 'running' then rolecall.rescue_from(open.task, open.lease, open.now) end,
            'last_event', (
                select event.kind from rolecall.task_events as event
                where event.task_id = p_task_id and event.at >= (open.task).created_at
                order by event.at desc
                limit 1
            ),
            'key', case when open.state in ('pending', 'blocked') then rolecall.key_situation(open.task, 10001, open.now) end,
            'pause', (
                select jsonb_build_object('since', role.paused_at, 'until', role.paused_until, 'by', role.paused_by)
                from rolecall.roles as role
                where role.name = open.role and role.paused_at is not null and (role.paused_until <= open.now) is not true
            ),
            'one_root', (open.task).parent_id is null and (open.task).key = 'role:' || open.role and exists (
                select from rolecall.roles as role where role.name = open.role and role.one_root
            ),
            'parked', (open.task).parked,
            'unfit_since', case when open.state = 'pending' and open.misfit_for <> '{}' then rolecall.unfit_since(p_task_id) end,
            'workers', (
                select coalesce(jsonb_agg(to_jsonb(worker) order by worker.id), '[]')
                from rolecall.live_workers(open.role, open.handler, open.now) as worker
            ),
            'ahead', case when open.due and not (open.task).parked then rolecall.ahead_in_line(open.task, 10001, open.now) end
        ) as facts
        from open
    )
    select coalesce((select known.facts from known), jsonb_build_object('at', rolecall.clock())) || (
        select jsonb_build_object('id', task.id, 'state', task.state, 'role', task.role,
            'handler', task.handler, 'key_name', task.key, 'attempt', task.attempt, 'error', task.error,
            'worker_id', task.worker_id, 'scheduled_for', task.scheduled_for, 'claimed_at', task.claimed_at,
            'started_at', task.started_at, 'lease_until', task.lease_until, 'deadline_at', task.deadline_at,
            'cancel_requested_at', task.cancel_requested_at, 'finished_at', task.finished_at)
        from rolecall.all_tasks as task
        where task.id = p_task_id
    )
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
                when state <> 'running' and fence = p_fence then 'already'
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
            -- Not before the worker came: what it has claimed ended later.
            from rolecall.find_finished(array[p_id], coalesce(
                (select worker.started_at from rolecall.workers as worker where worker.id = p_worker_id), '-infinity'
            ))
            order by finished_at desc
            limit 1
        ),
        'deleted'
    )
$$;
CREATE FUNCTION rolecall.win_keys(p_rooms rolecall.key_room[], p_claimant rolecall.claimant, p_now timestamp with time zone) RETURNS TABLE(id bigint, key text, slot smallint)
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$
#variable_conflict use_column
begin
    return query
    with room as materialized (
        select * from unnest(p_rooms) where free <> '{}'
    ),
    head as materialized (
        select * from rolecall.heads_of_keys(
            array(select key from room order by key), array(select cardinality(free) from room order by key), p_now
        )
    ),
    best as materialized (
        select head.key, head.id, row_number() over (
            partition by head.key order by line.priority desc, head.scheduled_for, head.id
        ) as turn
        from head
        join (
            select * from rolecall.lines_of_claim(array(select distinct head.line_id from head), p_claimant, p_now)
        ) as line using (line_id)
    ),
    placed as materialized (
        select best.id, best.key, room.free[best.turn] as slot
        from best
        join room using (key)
        where best.turn <= cardinality(room.free)
    ),
    mine as materialized (
        select task.id from rolecall.tasks as task
        where task.id = any(array(select placed.id from placed)) and task.state = 'pending'
        order by task.id
        for update skip locked
    )
    select placed.id, placed.key, placed.slot from mine join placed using (id);
end
$$;
CREATE FUNCTION rolecall.with_open_descendants(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO ''
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
    with recursive tree as (
        select id from unnest(p_ids) as given (id)
        union
        select child.id
        from tree
        cross join lateral (select task.id from rolecall.tasks as task where task.parent_id = tree.id offset 0) as child
    )
    select coalesce(array_agg(id), '{}') from tree
$$;
CREATE FUNCTION rolecall.without_nulls(p_object jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$
    select coalesce(jsonb_object_agg(member.key, member.value), '{}')
    from jsonb_each(p_object) as member
    where member.value <> 'null'
$$;
CREATE FUNCTION rolecall.work_in_hand(p_worker_ids bigint[], p_most integer) RETURNS TABLE(id bigint, worker_id bigint, role text, handler text, key text, attempt integer, started_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$
    select task.id, task.worker_id, line.role, line.handler, task.key, task.attempt, task.started_at
    from unnest(p_worker_ids) as asked (worker_id)
    cross join lateral (
        select running.id, running.worker_id, running.line_id, running.key, running.attempt, running.started_at
        from rolecall.tasks as running
        where running.worker_id = asked.worker_id and running.state = 'running' and running.started_at is not null
        order by running.started_at, running.id
        limit p_most
    ) as task
    join rolecall.lines as line on line.id = task.line_id
    order by task.worker_id, task.started_at, task.id
$$;
CREATE TABLE rolecall.idle_marks (
    role text NOT NULL COLLATE pg_catalog."C",
    worker_id bigint NOT NULL,
    handlers text[] NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY rolecall.idle_marks REPLICA IDENTITY FULL;
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
    pod text,
    node text,
    cpu double precision,
    memory double precision,
    memory_bytes bigint,
    clock_ahead double precision,
    backing_off text,
    command text,
    commanded_at timestamp with time zone,
    following text,
    intakes text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT a_command_has_a_time CHECK (((command IS NULL) = (commanded_at IS NULL))),
    CONSTRAINT a_stopped_worker_is_not_idle CHECK (((stopped_at IS NULL) OR (NOT idle))),
    CONSTRAINT command_is_one_that_workers_know CHECK ((command = ANY (ARRAY['drain'::text, 'decommission'::text]))),
    CONSTRAINT slots_are_positive CHECK ((slots > 0))
)
WITH (fillfactor='50');
CREATE VIEW rolecall.all_workers WITH (security_invoker='true') AS
 SELECT worker.id,
    worker.name,
    worker.roles,
    worker.handlers,
    worker.slots,
    worker.held,
    roll.idle,
    roll.active,
        CASE
            WHEN (worker.stopped_at IS NOT NULL) THEN 'stopped'::text
            WHEN (NOT roll.active) THEN 'silent'::text
            WHEN (worker.command = 'decommission'::text) THEN 'leaving'::text
            WHEN (worker.command = 'drain'::text) THEN
            CASE
                WHEN ((worker.following IS NOT NULL) AND (running.ids = '{}'::bigint[])) THEN 'drained'::text
                ELSE 'draining'::text
            END
            WHEN (worker.backing_off IS NOT NULL) THEN 'backing off'::text
            WHEN roll.idle THEN 'idle'::text
            ELSE 'busy'::text
        END AS state,
    worker.host,
    worker.pid,
    worker.version,
    worker.pod,
    worker.node,
    worker.started_at,
    worker.heartbeat_at,
    worker.stopped_at,
    worker.cpu,
    worker.memory,
    worker.memory_bytes,
    worker.clock_ahead,
    worker.backing_off,
    worker.command,
    worker.commanded_at,
    worker.following,
    running.ids AS running_tasks
   FROM ((rolecall.workers worker
     CROSS JOIN LATERAL ( SELECT ((worker.stopped_at IS NULL) AND (worker.heartbeat_at > (rolecall.clock() - '00:05:00'::interval))) AS active,
            (EXISTS ( SELECT
                   FROM rolecall.idle_marks mark
                  WHERE ((mark.worker_id = worker.id) AND (mark.until > rolecall.clock())))) AS idle) roll)
     CROSS JOIN LATERAL ( SELECT ARRAY( SELECT task.id
                   FROM rolecall.tasks task
                  WHERE ((task.worker_id = worker.id) AND (task.state = 'running'::rolecall.task_state) AND (task.started_at IS NOT NULL))
                  ORDER BY task.id) AS ids) running);
CREATE TABLE rolecall.api_keys (
    id bigint NOT NULL,
    name text NOT NULL,
    scope rolecall.scope NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT digest_is_sha256 CHECK ((length(digest) = 32)),
    CONSTRAINT name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);
ALTER TABLE rolecall.api_keys ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.api_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
CREATE TABLE rolecall.counted_until (
    only_row boolean DEFAULT true NOT NULL,
    moment timestamp with time zone NOT NULL,
    CONSTRAINT there_is_only_one_row CHECK (only_row)
);
CREATE TABLE rolecall.deeds (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    origin text,
    action text NOT NULL COLLATE pg_catalog."C",
    detail jsonb NOT NULL,
    outcome jsonb,
    CONSTRAINT detail_is_an_object CHECK ((jsonb_typeof(detail) = 'object'::text)),
    CONSTRAINT via_is_a_shell CHECK ((via = ANY (ARRAY['cli'::text, 'api'::text, 'dashboard'::text, 'system'::text])))
);
ALTER TABLE rolecall.deeds ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.deeds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
CREATE TABLE rolecall.finished_counts (
    day date NOT NULL,
    line_id integer NOT NULL,
    state rolecall.task_state NOT NULL,
    number bigint NOT NULL
);
ALTER TABLE ONLY rolecall.finished_counts REPLICA IDENTITY FULL;
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
    origin_id bigint,
    parent_id bigint,
    parent_fence integer,
    depth smallint,
    on_failure rolecall.child_rule,
    continued boolean,
    dedupe_pending boolean,
    timeout interval,
    CONSTRAINT a_failed_task_says_why CHECK (((state <> 'failed'::rolecall.task_state) OR (error IS NOT NULL))),
    CONSTRAINT only_terminal_states_stand_here CHECK ((state = ANY (ARRAY['completed'::rolecall.task_state, 'failed'::rolecall.task_state, 'cancelled'::rolecall.task_state])))
);
ALTER TABLE ONLY rolecall.finished_tasks_default REPLICA IDENTITY FULL;
CREATE TABLE rolecall.handlers (
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    description text DEFAULT ''::text NOT NULL,
    signature jsonb,
    lease interval,
    timeout interval,
    max_attempts integer,
    retry jsonb,
    procedure text,
    before_procedure text,
    after_procedure text,
    CONSTRAINT lease_is_between_a_tenth_of_a_second_and_a_day CHECK (((lease >= '00:00:00.1'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT max_attempts_is_positive_or_zero_for_unlimited CHECK ((max_attempts >= 0)),
    CONSTRAINT name_is_a_word CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT retry_is_a_policy CHECK (((retry ->> 'kind'::text) = ANY (ARRAY['none'::text, 'linear'::text, 'exponential'::text]))),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval))
);
CREATE TABLE rolecall.history_until (
    only_row boolean DEFAULT true NOT NULL,
    began timestamp with time zone NOT NULL,
    moment timestamp with time zone NOT NULL,
    CONSTRAINT there_is_only_one_row CHECK (only_row)
);
CREATE TABLE rolecall.key_patterns (
    prefix text NOT NULL COLLATE pg_catalog."C",
    declared smallint,
    capacity smallint,
    CONSTRAINT capacities_are_positive CHECK ((LEAST(declared, capacity) > 0)),
    CONSTRAINT somebody_says_a_capacity CHECK ((num_nonnulls(declared, capacity) > 0))
);
CREATE TABLE rolecall.keys (
    key text NOT NULL COLLATE pg_catalog."C",
    capacity smallint,
    declared smallint,
    CONSTRAINT capacities_are_positive CHECK ((LEAST(declared, capacity) > 0))
);
CREATE TABLE rolecall.known_browsers (
    digest bytea NOT NULL,
    person_id bigint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT digest_is_sha256 CHECK ((length(digest) = 32))
);
CREATE TABLE rolecall.roles (
    name text NOT NULL COLLATE pg_catalog."C",
    description text DEFAULT ''::text NOT NULL,
    lease interval DEFAULT '00:01:00'::interval NOT NULL,
    timeout interval DEFAULT '01:00:00'::interval NOT NULL,
    max_attempts integer DEFAULT 5,
    retry jsonb DEFAULT '{"cap": 300, "kind": "exponential", "first": 10, "factor": 2, "jitter": 0.1}'::jsonb NOT NULL,
    max_payload_bytes integer DEFAULT 1048576 NOT NULL,
    keep_completed interval DEFAULT '14 days'::interval NOT NULL,
    keep_failed interval DEFAULT '14 days'::interval NOT NULL,
    paused_at timestamp with time zone,
    one_root boolean DEFAULT false NOT NULL,
    paused_until timestamp with time zone,
    paused_by text,
    CONSTRAINT a_pause_ends_after_it_began CHECK ((paused_until > paused_at)),
    CONSTRAINT lease_is_between_a_tenth_of_a_second_and_a_day CHECK (((lease >= '00:00:00.1'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT max_attempts_is_positive_or_null_for_unlimited CHECK ((max_attempts > 0)),
    CONSTRAINT max_payload_bytes_is_between_1_kb_and_64_mb CHECK (((max_payload_bytes >= 1024) AND (max_payload_bytes <= 67108864))),
    CONSTRAINT name_is_a_word CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT only_a_paused_role_says_by_whom_and_until_when CHECK (((paused_at IS NOT NULL) OR (num_nonnulls(paused_until, paused_by) = 0))),
    CONSTRAINT retry_is_a_policy CHECK (((retry ->> 'kind'::text) = ANY (ARRAY['none'::text, 'linear'::text, 'exponential'::text]))),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval))
);
CREATE VIEW rolecall.line_settings WITH (security_invoker='true') AS
 SELECT line.id AS line_id,
    line.role,
    line.handler,
    line.priority,
    COALESCE(handler.lease, role.lease) AS lease,
    COALESCE(handler.timeout, role.timeout) AS timeout,
    COALESCE(handler.retry, role.retry) AS retry,
    (role.paused_at IS NOT NULL) AS paused,
    role.paused_until,
    line.never_ahead,
    line.misfit_for
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
CREATE TABLE rolecall.login_attempts (
    digest bytea NOT NULL,
    attempts integer NOT NULL,
    last_at timestamp with time zone NOT NULL,
    locked_until timestamp with time zone,
    name_digest bytea
);
CREATE TABLE rolecall.needs (
    task_id bigint NOT NULL,
    "position" integer NOT NULL,
    name text,
    needed_id bigint NOT NULL,
    whole_chain boolean NOT NULL,
    on_failure rolecall.need_rule NOT NULL,
    outcome rolecall.task_state
);
CREATE TABLE rolecall.people (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    scope rolecall.scope NOT NULL,
    password_hash text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_login_at timestamp with time zone,
    CONSTRAINT name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);
ALTER TABLE rolecall.people ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.people_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
CREATE VIEW rolecall.procedures WITH (security_invoker='true') AS
 SELECT name,
    role,
    procedure,
    before_procedure,
    after_procedure,
    description
   FROM rolecall.handlers
  WHERE (procedure IS NOT NULL);
CREATE TABLE rolecall.requests (
    caller text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    answered_at timestamp with time zone NOT NULL,
    status integer NOT NULL,
    location text,
    body text NOT NULL
);
CREATE TABLE rolecall.schedule_runs (
    id bigint NOT NULL,
    schedule_id bigint NOT NULL,
    slot timestamp with time zone,
    at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    missed bigint NOT NULL,
    task_id bigint,
    generated integer DEFAULT 0 NOT NULL,
    error text,
    CONSTRAINT only_a_refused_run_has_an_error CHECK (((outcome = 'refused'::text) = (error IS NOT NULL))),
    CONSTRAINT outcome_is_known CHECK ((outcome = ANY (ARRAY['enqueued'::text, 'stood'::text, 'skipped'::text, 'missed'::text, 'refused'::text])))
);
ALTER TABLE rolecall.schedule_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.schedule_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
ALTER TABLE rolecall.schedules ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.schedules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
CREATE TABLE rolecall.schema_files (
    package text NOT NULL,
    file text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
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
CREATE TABLE rolecall.sessions (
    digest bytea NOT NULL,
    person_id bigint NOT NULL,
    origin text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT digest_is_sha256 CHECK ((length(digest) = 32))
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
ALTER TABLE ONLY rolecall.task_events REPLICA IDENTITY FULL;
CREATE TABLE rolecall.task_events_default (
    task_id bigint CONSTRAINT task_events_task_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT task_events_at_not_null NOT NULL,
    kind text CONSTRAINT task_events_kind_not_null NOT NULL,
    attempt integer CONSTRAINT task_events_attempt_not_null NOT NULL,
    worker_id bigint,
    detail text
);
ALTER TABLE ONLY rolecall.task_events_default REPLICA IDENTITY FULL;
CREATE TABLE rolecall.task_tokens (
    digest bytea NOT NULL,
    task_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
ALTER TABLE rolecall.tasks ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rolecall.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
CREATE TABLE rolecall.unpark_pass (
    only_row boolean DEFAULT true NOT NULL,
    place text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    next_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT there_is_only_one_row CHECK (only_row)
);
ALTER TABLE rolecall.workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
ALTER TABLE ONLY rolecall.finished_tasks ATTACH PARTITION rolecall.finished_tasks_default DEFAULT;
ALTER TABLE ONLY rolecall.task_events ATTACH PARTITION rolecall.task_events_default DEFAULT;
ALTER TABLE ONLY rolecall.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.api_keys
    ADD CONSTRAINT api_keys_prefix_key UNIQUE (prefix);
ALTER TABLE ONLY rolecall.counted_until
    ADD CONSTRAINT counted_until_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.deeds
    ADD CONSTRAINT deeds_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.handlers
    ADD CONSTRAINT handlers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rolecall.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (role, width, at);
ALTER TABLE ONLY rolecall.history_until
    ADD CONSTRAINT history_until_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.key_patterns
    ADD CONSTRAINT key_patterns_pkey PRIMARY KEY (prefix);
ALTER TABLE ONLY rolecall.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key);
ALTER TABLE ONLY rolecall.known_browsers
    ADD CONSTRAINT known_browsers_pkey PRIMARY KEY (digest, person_id);
ALTER TABLE ONLY rolecall.lines
    ADD CONSTRAINT lines_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.login_attempts
    ADD CONSTRAINT login_attempts_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY rolecall.needs
    ADD CONSTRAINT names_tell_needs_apart UNIQUE (task_id, name);
ALTER TABLE ONLY rolecall.requests
    ADD CONSTRAINT one_answer_per_caller_and_key PRIMARY KEY (caller, key);
ALTER TABLE ONLY rolecall.needs
    ADD CONSTRAINT one_need_per_position PRIMARY KEY (task_id, "position");
ALTER TABLE ONLY rolecall.people
    ADD CONSTRAINT people_name_key UNIQUE (name);
ALTER TABLE ONLY rolecall.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY rolecall.roles
    ADD CONSTRAINT roles_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rolecall.schedule_runs
    ADD CONSTRAINT schedule_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.schedules
    ADD CONSTRAINT schedules_name_key UNIQUE (name);
ALTER TABLE ONLY rolecall.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.schema_files
    ADD CONSTRAINT schema_files_pkey PRIMARY KEY (package, file);
ALTER TABLE ONLY rolecall.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (package, version);
ALTER TABLE ONLY rolecall.server_epoch
    ADD CONSTRAINT server_epoch_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY rolecall.task_tokens
    ADD CONSTRAINT task_tokens_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY rolecall.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.unpark_pass
    ADD CONSTRAINT unpark_pass_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX deeds_by_time ON rolecall.deeds USING btree (at);
CREATE INDEX finished_counts_by_day ON rolecall.finished_counts USING btree (day);
CREATE INDEX finished_tasks_by_chain ON ONLY rolecall.finished_tasks USING btree (chain_id, chain_index) WHERE (chain_index > 0);
CREATE INDEX finished_tasks_by_dedupe_key ON ONLY rolecall.finished_tasks USING btree (dedupe_key, created_at) WHERE (dedupe_key IS NOT NULL);
CREATE INDEX finished_tasks_by_id ON ONLY rolecall.finished_tasks USING btree (id);
CREATE INDEX finished_tasks_by_key ON ONLY rolecall.finished_tasks USING btree (key, id) WHERE (key IS NOT NULL);
CREATE INDEX finished_tasks_by_parent ON ONLY rolecall.finished_tasks USING btree (parent_id, parent_fence) WHERE (parent_id IS NOT NULL);
CREATE INDEX finished_tasks_by_time ON ONLY rolecall.finished_tasks USING brin (finished_at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX finished_tasks_default_chain_id_chain_index_idx ON rolecall.finished_tasks_default USING btree (chain_id, chain_index) WHERE (chain_index > 0);
CREATE INDEX finished_tasks_default_dedupe_key_created_at_idx ON rolecall.finished_tasks_default USING btree (dedupe_key, created_at) WHERE (dedupe_key IS NOT NULL);
CREATE INDEX finished_tasks_default_finished_at_idx ON rolecall.finished_tasks_default USING brin (finished_at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX finished_tasks_default_id_idx ON rolecall.finished_tasks_default USING btree (id);
CREATE INDEX finished_tasks_default_key_id_idx ON rolecall.finished_tasks_default USING btree (key, id) WHERE (key IS NOT NULL);
CREATE INDEX finished_tasks_default_parent_id_parent_fence_idx ON rolecall.finished_tasks_default USING btree (parent_id, parent_fence) WHERE (parent_id IS NOT NULL);
CREATE INDEX finished_tasks_not_completed ON ONLY rolecall.finished_tasks USING btree (state, id) WHERE (state <> 'completed'::rolecall.task_state);
CREATE INDEX finished_tasks_default_state_id_idx ON rolecall.finished_tasks_default USING btree (state, id) WHERE (state <> 'completed'::rolecall.task_state);
CREATE INDEX idle_marks_by_role ON rolecall.idle_marks USING btree (role, until);
CREATE INDEX idle_marks_by_worker ON rolecall.idle_marks USING btree (worker_id, until);
CREATE INDEX keys_with_a_capacity ON rolecall.keys USING btree (key) WHERE ((declared IS NOT NULL) OR (capacity IS NOT NULL));
CREATE INDEX known_browsers_by_person ON rolecall.known_browsers USING btree (person_id);
CREATE INDEX lines_by_name ON rolecall.lines USING btree (role, handler, priority);
CREATE INDEX needs_by_needed ON rolecall.needs USING btree (needed_id);
CREATE UNIQUE INDEX one_active_task_per_key_slot ON rolecall.tasks USING btree (key, key_slot) WHERE (key_slot IS NOT NULL);
CREATE UNIQUE INDEX one_open_continuation_per_chain ON rolecall.tasks USING btree (chain_id) WHERE (chain_index > 0);
CREATE UNIQUE INDEX one_task_per_dedupe_key ON rolecall.tasks USING btree (dedupe_key, COALESCE(dedupe_pending, false)) WHERE ((dedupe_key IS NOT NULL) AND ((dedupe_pending IS NOT TRUE) OR (fence = 0)));
CREATE INDEX requests_by_time ON rolecall.requests USING btree (answered_at);
CREATE INDEX schedule_runs_by_schedule ON rolecall.schedule_runs USING btree (schedule_id, id);
CREATE INDEX schedule_runs_by_task ON rolecall.schedule_runs USING btree (task_id) WHERE (outcome = 'enqueued'::text);
CREATE INDEX schedules_due ON rolecall.schedules USING btree (next_run_at) WHERE enabled;
CREATE INDEX sessions_by_expiry ON rolecall.sessions USING btree (expires_at);
CREATE INDEX sessions_by_person ON rolecall.sessions USING btree (person_id);
CREATE INDEX task_events_by_task ON ONLY rolecall.task_events USING btree (task_id);
CREATE INDEX task_events_by_time ON ONLY rolecall.task_events USING brin (at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX task_events_default_at_idx ON rolecall.task_events_default USING brin (at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX task_events_default_task_id_idx ON rolecall.task_events_default USING btree (task_id);
CREATE INDEX task_tokens_by_task ON rolecall.task_tokens USING btree (task_id);
CREATE INDEX tasks_beside_a_twin ON rolecall.tasks USING btree (dedupe_key) WHERE dedupe_pending;
CREATE INDEX tasks_by_parent ON rolecall.tasks USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);
CREATE INDEX tasks_held_up ON rolecall.tasks USING btree (id) WHERE (state = ANY (ARRAY['blocked'::rolecall.task_state, 'waiting'::rolecall.task_state]));
CREATE INDEX tasks_in_line ON rolecall.tasks USING btree (line_id, scheduled_for, id) WHERE ((state = 'pending'::rolecall.task_state) AND (NOT parked));
CREATE INDEX tasks_running ON rolecall.tasks USING btree (worker_id) WHERE (state = 'running'::rolecall.task_state);
CREATE INDEX tasks_to_park ON rolecall.tasks USING btree (key) WHERE ((state = 'pending'::rolecall.task_state) AND (parked IS NOT TRUE) AND (key IS NOT NULL));
CREATE INDEX tasks_wanting_key ON rolecall.tasks USING btree (key, line_id, scheduled_for, id) WHERE ((state = 'pending'::rolecall.task_state) AND (key IS NOT NULL));
ALTER INDEX rolecall.finished_tasks_by_chain ATTACH PARTITION rolecall.finished_tasks_default_chain_id_chain_index_idx;
ALTER INDEX rolecall.finished_tasks_by_dedupe_key ATTACH PARTITION rolecall.finished_tasks_default_dedupe_key_created_at_idx;
ALTER INDEX rolecall.finished_tasks_by_time ATTACH PARTITION rolecall.finished_tasks_default_finished_at_idx;
ALTER INDEX rolecall.finished_tasks_by_id ATTACH PARTITION rolecall.finished_tasks_default_id_idx;
ALTER INDEX rolecall.finished_tasks_by_key ATTACH PARTITION rolecall.finished_tasks_default_key_id_idx;
ALTER INDEX rolecall.finished_tasks_by_parent ATTACH PARTITION rolecall.finished_tasks_default_parent_id_parent_fence_idx;
ALTER INDEX rolecall.finished_tasks_not_completed ATTACH PARTITION rolecall.finished_tasks_default_state_id_idx;
ALTER INDEX rolecall.task_events_by_time ATTACH PARTITION rolecall.task_events_default_at_idx;
ALTER INDEX rolecall.task_events_by_task ATTACH PARTITION rolecall.task_events_default_task_id_idx;
CREATE TRIGGER nothing_is_deleted_early AFTER DELETE ON rolecall.deeds REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION rolecall.protect_deeds();
CREATE TRIGGER nothing_is_rewritten BEFORE UPDATE OR TRUNCATE ON rolecall.deeds FOR EACH STATEMENT EXECUTE FUNCTION rolecall.protect_deeds();
CREATE TRIGGER what_leaves_is_counted_no_more AFTER DELETE ON rolecall.finished_tasks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION rolecall.uncount_finished();
ALTER TABLE ONLY rolecall.known_browsers
    ADD CONSTRAINT known_browsers_person_id_fkey FOREIGN KEY (person_id) REFERENCES rolecall.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY rolecall.sessions
    ADD CONSTRAINT sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES rolecall.people(id) ON DELETE CASCADE;
