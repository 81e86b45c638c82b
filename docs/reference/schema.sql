CREATE SCHEMA rolecall;
CREATE TYPE rolecall.child_rule AS ENUM (
    'fail_parent',
    'ignore',
    'cancel_siblings'
);
CREATE TYPE rolecall.claim_terms AS (
	worker_id bigint,
	roles text[],
	handlers text[],
	ahead boolean,
	run integer,
	free_slots integer
);
CREATE TYPE rolecall.claimed_task AS (
	id bigint,
	fence integer,
	attempt integer,
	max_attempts integer,
	role text,
	handler text,
	priority integer,
	payload jsonb,
	key text,
	chain_id bigint,
	chain_index integer,
	scheduled_for timestamp with time zone,
	created_at timestamp with time zone,
	lease_seconds double precision,
	timeout_seconds double precision,
	step integer,
	parent_id bigint,
	last_error text,
	key_slot integer,
	expires_seconds double precision,
	fire_time timestamp with time zone
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
	free smallint[],
	has_more boolean
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
	on_failure rolecall.child_rule,
	fire_time timestamp with time zone
);
CREATE TYPE rolecall.scope AS ENUM (
    'own',
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
	finished_to timestamp with time zone,
	error_group bigint,
	error text,
	payload jsonb,
	action text
);
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
    trace_context text,
    expires_at timestamp with time zone,
    fire_time timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0', fillfactor='45');
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
    withdrawn text,
    CONSTRAINT either_an_interval_or_a_cron_expression CHECK ((num_nonnulls(every, cron) = 1)),
    CONSTRAINT every_is_between_a_second_and_ten_years CHECK (((every >= '00:00:01'::interval) AND (every <= '10 years'::interval))),
    CONSTRAINT jitter_is_at_most_a_day CHECK (((jitter >= '00:00:00'::interval) AND (jitter <= '24:00:00'::interval))),
    CONSTRAINT misfire_is_a_policy CHECK ((misfire = ANY (ARRAY['skip'::text, 'one'::text, 'all'::text]))),
    CONSTRAINT name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT overlap_is_a_policy CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'cancel'::text]))),
    CONSTRAINT payload_is_an_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100)))
);
CREATE TABLE rolecall.bulk_actions (
    id bigint NOT NULL,
    action text NOT NULL,
    filter jsonb NOT NULL,
    rate double precision,
    actor text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone,
    finished_at timestamp with time zone,
    state text DEFAULT 'waiting'::text NOT NULL,
    below bigint NOT NULL,
    total bigint,
    done bigint DEFAULT 0 NOT NULL,
    outcomes jsonb DEFAULT '{}'::jsonb NOT NULL,
    stopped_by text,
    CONSTRAINT action_is_a_verb CHECK ((action = ANY (ARRAY['retry'::text, 'cancel'::text, 'delete'::text]))),
    CONSTRAINT due_iff_unfinished CHECK (((next_at IS NULL) = (finished_at IS NOT NULL))),
    CONSTRAINT filter_is_an_object CHECK (((jsonb_typeof(filter) = 'object'::text) AND (filter <> '{}'::jsonb))),
    CONSTRAINT only_retries_have_a_rate CHECK (((rate IS NULL) OR ((action = 'retry'::text) AND ((rate >= (0.01)::double precision) AND (rate <= (10000)::double precision))))),
    CONSTRAINT state_is_one_of_a_bulk_action CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'completed'::text, 'stopped'::text, 'withdrawn'::text])))
)
WITH (fillfactor='50');
CREATE TABLE rolecall.history (
    role text NOT NULL COLLATE pg_catalog."C",
    handler text NOT NULL COLLATE pg_catalog."C",
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
CREATE TABLE rolecall.workers (
    id bigint NOT NULL,
    name text NOT NULL,
    roles text[] NOT NULL,
    handlers text[] NOT NULL,
    slots integer NOT NULL,
    held integer DEFAULT 0 NOT NULL,
    started_at timestamp with time zone NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    is_dead boolean DEFAULT false NOT NULL,
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
    pid_space text,
    pid_started bigint,
    sessions text,
    unseen_since timestamp with time zone,
    login text DEFAULT SESSION_USER NOT NULL,
    app text,
    release text,
    CONSTRAINT a_command_has_a_time CHECK (((command IS NULL) = (commanded_at IS NULL))),
    CONSTRAINT command_is_known CHECK ((command = ANY (ARRAY['drain'::text, 'decommission'::text]))),
    CONSTRAINT slots_are_positive CHECK ((slots > 0))
)
WITH (fillfactor='50');
CREATE FUNCTION rolecall.is_sound(p_task rolecall.tasks) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
declare
    v_broken text := case
        when p_task.state not in ('blocked', 'pending', 'running', 'waiting')
            then 'only_open_states'
        when num_nonnulls(p_task.worker_id, p_task.claimed_at, p_task.lease_until, p_task.deadline_at)
            <> case when p_task.state = 'running' then 4 else 0 end
            then 'running_iff_owned_leased_and_bounded'
        when p_task.started_at is not null and p_task.state not in ('running', 'waiting')
            then 'only_running_or_waiting_tasks_have_started'
        when p_task.cancel_requested_at is not null and p_task.state <> 'running'
            then 'only_running_tasks_await_their_cancellation'
        when p_task.state = 'running' and least(p_task.attempt, p_task.fence) < 1
            then 'a_claim_counts_an_attempt'
        when p_task.attempt < 0 or p_task.attempt > p_task.max_attempts
            then 'attempts_stay_within_max_attempts'
        when p_task.parked and (p_task.state <> 'pending' or p_task.key is null)
            then 'only_pending_keyed_tasks_are_parked'
        when jsonb_typeof(p_task.payload) <> 'object'
            then 'payload_is_an_object'
        when case
            when p_task.key is null then p_task.key_slot is not null
            when p_task.state in ('running', 'waiting') then p_task.key_slot is null
            when p_task.state = 'pending' and p_task.step_number is not null then false
            else p_task.key_slot is not null
        end
            then 'holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps'
        when (p_task.open_needs is not null) <> (p_task.state = 'blocked')
            then 'blocked_iff_it_needs_something'
        when p_task.open_needs < 1
            then 'open_needs_are_counted_from_one'
        when p_task.state = 'waiting' and p_task.open_children is null
            then 'waiting_only_for_children'
        when p_task.open_children < 1
            then 'open_children_are_counted_from_one'
        when num_nonnulls(p_task.parent_id, p_task.parent_fence, p_task.depth) not in (0, 3)
            then 'a_child_knows_which_claim_spawned_it'
        when p_task.timeout <= '0 s'
            then 'timeout_is_positive'
    end;
begin
    if v_broken is not null then
        raise exception using
            errcode = 'check_violation', schema = 'rolecall', table = 'tasks', constraint = v_broken,
            message = format('new row for relation "tasks" violates check constraint "%s"', v_broken),
            detail = format('It is task %s.', p_task.id);
    end if;
    return true;
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
    trace_context text,
    expires_at timestamp with time zone,
    fire_time timestamp with time zone,
    error_group bigint,
    CONSTRAINT failed_task_has_an_error CHECK (((state <> 'failed'::rolecall.task_state) OR (error IS NOT NULL))),
    CONSTRAINT only_terminal_states CHECK ((state = ANY (ARRAY['completed'::rolecall.task_state, 'failed'::rolecall.task_state, 'cancelled'::rolecall.task_state])))
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
CREATE TABLE rolecall.retention (
    kind text NOT NULL COLLATE pg_catalog."C",
    keep interval,
    next_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    place text COLLATE pg_catalog."C",
    in_use_since timestamp with time zone,
    CONSTRAINT keep_is_at_least_a_day CHECK ((keep >= '1 day'::interval))
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
    procedure text,
    before_procedure text,
    after_procedure text,
    key text,
    dedupe_key text,
    expires interval,
    result_schema jsonb,
    strict_keys boolean,
    hiding jsonb DEFAULT '[]'::jsonb NOT NULL,
    withdrawn text,
    CONSTRAINT expires_is_positive CHECK ((expires > '00:00:00'::interval)),
    CONSTRAINT lease_is_between_a_tenth_of_a_second_and_a_day CHECK (((lease >= '00:00:00.1'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT max_attempts_is_positive_or_zero_for_unlimited CHECK ((max_attempts >= 0)),
    CONSTRAINT name_is_a_word CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT retry_is_a_policy CHECK (((retry ->> 'kind'::text) = ANY (ARRAY['none'::text, 'linear'::text, 'exponential'::text]))),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval))
);
CREATE TABLE rolecall.idle_marks (
    role text NOT NULL COLLATE pg_catalog."C",
    worker_id bigint NOT NULL,
    handlers text[] NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY rolecall.idle_marks REPLICA IDENTITY FULL;
CREATE TABLE rolecall.announced_problems (
    kind text NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    announced_at timestamp with time zone
);
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
    person_id bigint,
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
CREATE TABLE rolecall.audit_log (
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
ALTER TABLE rolecall.audit_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
ALTER TABLE rolecall.bulk_actions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.bulk_actions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);
CREATE TABLE rolecall.counted_until (
    only_row boolean DEFAULT true NOT NULL,
    moment timestamp with time zone NOT NULL,
    CONSTRAINT has_only_one_row CHECK (only_row)
);
CREATE TABLE rolecall.declarations (
    app text NOT NULL COLLATE pg_catalog."C",
    release text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    digest text,
    CONSTRAINT kind_is_known CHECK ((kind = ANY (ARRAY['schedule'::text, 'key'::text, 'role'::text, 'handler'::text])))
);
CREATE TABLE rolecall.duties (
    name text NOT NULL COLLATE pg_catalog."C",
    every interval NOT NULL,
    next_at timestamp with time zone NOT NULL,
    done_by text NOT NULL,
    succeeded_at timestamp with time zone,
    unfinished_since timestamp with time zone,
    error text,
    CONSTRAINT only_an_unfinished_duty_has_an_error CHECK (((error IS NULL) OR (unfinished_since IS NOT NULL)))
)
WITH (fillfactor='50');
CREATE TABLE rolecall.error_groups (
    id bigint NOT NULL,
    handler text NOT NULL COLLATE pg_catalog."C",
    type text,
    message text NOT NULL,
    frame text,
    state text DEFAULT 'new'::text NOT NULL,
    state_at timestamp with time zone NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    failed bigint NOT NULL,
    retried bigint NOT NULL,
    sample_id bigint NOT NULL,
    first_release text,
    last_release text,
    CONSTRAINT state_is_known CHECK ((state = ANY (ARRAY['new'::text, 'muted'::text, 'resolved'::text])))
);
CREATE TABLE rolecall.error_hours (
    group_id bigint NOT NULL,
    hour timestamp with time zone NOT NULL,
    failed integer NOT NULL,
    retried integer NOT NULL
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
    trace_context text,
    expires_at timestamp with time zone,
    fire_time timestamp with time zone,
    error_group bigint,
    CONSTRAINT failed_task_has_an_error CHECK (((state <> 'failed'::rolecall.task_state) OR (error IS NOT NULL))),
    CONSTRAINT only_terminal_states CHECK ((state = ANY (ARRAY['completed'::rolecall.task_state, 'failed'::rolecall.task_state, 'cancelled'::rolecall.task_state])))
);
ALTER TABLE ONLY rolecall.finished_tasks_default REPLICA IDENTITY FULL;
CREATE TABLE rolecall.history_until (
    only_row boolean DEFAULT true NOT NULL,
    began timestamp with time zone NOT NULL,
    moment timestamp with time zone NOT NULL,
    CONSTRAINT has_only_one_row CHECK (only_row)
);
CREATE TABLE rolecall.key_patterns (
    prefix text NOT NULL COLLATE pg_catalog."C",
    declared smallint,
    capacity smallint,
    CONSTRAINT capacities_are_positive CHECK ((LEAST(declared, capacity) > 0)),
    CONSTRAINT has_a_capacity CHECK ((num_nonnulls(declared, capacity) > 0))
);
CREATE TABLE rolecall.keys (
    key text NOT NULL COLLATE pg_catalog."C",
    capacity smallint,
    declared smallint,
    CONSTRAINT capacities_are_valid CHECK (((declared > 0) AND (capacity >= 0)))
);
CREATE TABLE rolecall.known_browsers (
    digest bytea NOT NULL,
    person_id bigint NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    CONSTRAINT digest_is_sha256 CHECK ((length(digest) = 32))
);
CREATE TABLE rolecall.latches (
    kind text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL
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
    idempotent boolean DEFAULT false NOT NULL,
    strict_keys boolean DEFAULT false NOT NULL,
    withdrawn text,
    CONSTRAINT a_pause_ends_after_it_began CHECK ((paused_until > paused_at)),
    CONSTRAINT lease_is_between_a_tenth_of_a_second_and_a_day CHECK (((lease >= '00:00:00.1'::interval) AND (lease <= '1 day'::interval))),
    CONSTRAINT max_attempts_is_positive_or_null_for_unlimited CHECK ((max_attempts > 0)),
    CONSTRAINT max_payload_bytes_is_between_1_kb_and_64_mb CHECK (((max_payload_bytes >= 1024) AND (max_payload_bytes <= 67108864))),
    CONSTRAINT name_is_a_word CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'::text)),
    CONSTRAINT only_a_paused_role_has_pause_details CHECK (((paused_at IS NOT NULL) OR (num_nonnulls(paused_until, paused_by) = 0))),
    CONSTRAINT retry_is_a_policy CHECK (((retry ->> 'kind'::text) = ANY (ARRAY['none'::text, 'linear'::text, 'exponential'::text]))),
    CONSTRAINT timeout_is_positive CHECK ((timeout > '00:00:00'::interval))
);
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
CREATE TABLE rolecall.new_failures (
    group_id bigint NOT NULL,
    handler text NOT NULL COLLATE pg_catalog."C",
    type text,
    message text NOT NULL,
    frame text,
    at timestamp with time zone NOT NULL,
    failed integer NOT NULL,
    retried integer NOT NULL,
    sample_id bigint NOT NULL,
    worker_id bigint
);
ALTER TABLE ONLY rolecall.new_failures REPLICA IDENTITY FULL;
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
CREATE TABLE rolecall.requests (
    caller text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    answered_at timestamp with time zone NOT NULL,
    status integer NOT NULL,
    location text,
    body text NOT NULL
);
CREATE TABLE rolecall.saved_views (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    query text NOT NULL,
    saved_by text NOT NULL,
    saved_at timestamp with time zone NOT NULL,
    CONSTRAINT name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 60))),
    CONSTRAINT query_is_short CHECK (((length(query) >= 1) AND (length(query) <= 1000)))
);
ALTER TABLE rolecall.saved_views ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rolecall.saved_views_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
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
    seen_at timestamp with time zone NOT NULL,
    clock_steps integer DEFAULT 0 NOT NULL,
    CONSTRAINT has_only_one_row CHECK (only_row)
);
CREATE TABLE rolecall.sessions (
    digest bytea NOT NULL,
    person_id bigint,
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
    detail text,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    actor text,
    bulk_action_id bigint
)
PARTITION BY RANGE (at);
ALTER TABLE ONLY rolecall.task_events REPLICA IDENTITY FULL;
CREATE TABLE rolecall.task_events_default (
    task_id bigint CONSTRAINT task_events_task_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT task_events_at_not_null NOT NULL,
    kind text CONSTRAINT task_events_kind_not_null NOT NULL,
    attempt integer CONSTRAINT task_events_attempt_not_null NOT NULL,
    worker_id bigint,
    detail text,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    actor text,
    bulk_action_id bigint
);
ALTER TABLE ONLY rolecall.task_events_default REPLICA IDENTITY FULL;
CREATE TABLE rolecall.task_logs (
    task_id bigint NOT NULL,
    fence integer NOT NULL,
    part integer NOT NULL,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    lines jsonb NOT NULL
);
CREATE TABLE rolecall.task_owners (
    task_id bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL
);
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
    CONSTRAINT has_only_one_row CHECK (only_row)
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
ALTER TABLE ONLY rolecall.announced_problems
    ADD CONSTRAINT announced_problems_pkey PRIMARY KEY (kind, subject);
ALTER TABLE ONLY rolecall.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.api_keys
    ADD CONSTRAINT api_keys_prefix_key UNIQUE (prefix);
ALTER TABLE ONLY rolecall.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.bulk_actions
    ADD CONSTRAINT bulk_actions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.counted_until
    ADD CONSTRAINT counted_until_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.declarations
    ADD CONSTRAINT declarations_pkey PRIMARY KEY (app, release, kind, name);
ALTER TABLE ONLY rolecall.duties
    ADD CONSTRAINT duties_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rolecall.error_groups
    ADD CONSTRAINT error_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.error_hours
    ADD CONSTRAINT error_hours_pkey PRIMARY KEY (group_id, hour);
ALTER TABLE ONLY rolecall.handlers
    ADD CONSTRAINT handlers_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rolecall.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (role, width, at, handler);
ALTER TABLE ONLY rolecall.history_until
    ADD CONSTRAINT history_until_pkey PRIMARY KEY (only_row);
ALTER TABLE rolecall.tasks
    ADD CONSTRAINT is_sound CHECK (rolecall.is_sound(tasks.*));
ALTER TABLE ONLY rolecall.key_patterns
    ADD CONSTRAINT key_patterns_pkey PRIMARY KEY (prefix);
ALTER TABLE ONLY rolecall.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key);
ALTER TABLE ONLY rolecall.known_browsers
    ADD CONSTRAINT known_browsers_pkey PRIMARY KEY (digest, person_id);
ALTER TABLE ONLY rolecall.latches
    ADD CONSTRAINT latches_pkey PRIMARY KEY (kind, number);
ALTER TABLE ONLY rolecall.lines
    ADD CONSTRAINT lines_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.login_attempts
    ADD CONSTRAINT login_attempts_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY rolecall.needs
    ADD CONSTRAINT names_of_needs_are_distinct UNIQUE (task_id, name);
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
ALTER TABLE ONLY rolecall.saved_views
    ADD CONSTRAINT saved_views_name_key UNIQUE (name);
ALTER TABLE ONLY rolecall.saved_views
    ADD CONSTRAINT saved_views_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY rolecall.task_logs
    ADD CONSTRAINT task_logs_pkey PRIMARY KEY (task_id, fence, part);
ALTER TABLE ONLY rolecall.task_owners
    ADD CONSTRAINT task_owners_pkey PRIMARY KEY (task_id);
ALTER TABLE ONLY rolecall.task_tokens
    ADD CONSTRAINT task_tokens_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY rolecall.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rolecall.unpark_pass
    ADD CONSTRAINT unpark_pass_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY rolecall.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX api_keys_by_person ON rolecall.api_keys USING btree (person_id) WHERE (person_id IS NOT NULL);
CREATE INDEX audit_log_by_time ON rolecall.audit_log USING btree (at);
CREATE INDEX bulk_actions_due ON rolecall.bulk_actions USING btree (next_at) WHERE (next_at IS NOT NULL);
CREATE INDEX error_groups_by_time ON rolecall.error_groups USING btree (last_at, id);
CREATE INDEX finished_counts_by_day ON rolecall.finished_counts USING btree (day);
CREATE INDEX finished_tasks_by_chain ON ONLY rolecall.finished_tasks USING btree (chain_id, chain_index) WHERE (chain_index > 0);
CREATE INDEX finished_tasks_by_dedupe_key ON ONLY rolecall.finished_tasks USING btree (dedupe_key, created_at) WHERE (dedupe_key IS NOT NULL);
CREATE INDEX finished_tasks_by_error ON ONLY rolecall.finished_tasks USING btree (error_group, id) WHERE (error_group IS NOT NULL);
CREATE INDEX finished_tasks_by_id ON ONLY rolecall.finished_tasks USING btree (id);
CREATE INDEX finished_tasks_by_key ON ONLY rolecall.finished_tasks USING btree (key, id) WHERE (key IS NOT NULL);
CREATE INDEX finished_tasks_by_parent ON ONLY rolecall.finished_tasks USING btree (parent_id, parent_fence) WHERE (parent_id IS NOT NULL);
CREATE INDEX finished_tasks_by_time ON ONLY rolecall.finished_tasks USING brin (finished_at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX finished_tasks_default_chain_id_chain_index_idx ON rolecall.finished_tasks_default USING btree (chain_id, chain_index) WHERE (chain_index > 0);
CREATE INDEX finished_tasks_default_dedupe_key_created_at_idx ON rolecall.finished_tasks_default USING btree (dedupe_key, created_at) WHERE (dedupe_key IS NOT NULL);
CREATE INDEX finished_tasks_default_error_group_id_idx ON rolecall.finished_tasks_default USING btree (error_group, id) WHERE (error_group IS NOT NULL);
CREATE INDEX finished_tasks_default_finished_at_idx ON rolecall.finished_tasks_default USING brin (finished_at) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX finished_tasks_default_id_idx ON rolecall.finished_tasks_default USING btree (id);
CREATE INDEX finished_tasks_default_key_id_idx ON rolecall.finished_tasks_default USING btree (key, id) WHERE (key IS NOT NULL);
CREATE INDEX finished_tasks_default_parent_id_parent_fence_idx ON rolecall.finished_tasks_default USING btree (parent_id, parent_fence) WHERE (parent_id IS NOT NULL);
CREATE INDEX finished_tasks_not_completed ON ONLY rolecall.finished_tasks USING btree (state, id) WHERE (state <> 'completed'::rolecall.task_state);
CREATE INDEX finished_tasks_default_state_id_idx ON rolecall.finished_tasks_default USING btree (state, id) WHERE (state <> 'completed'::rolecall.task_state);
CREATE INDEX handlers_with_defaults ON rolecall.handlers USING btree (name) WHERE ((key IS NOT NULL) OR (dedupe_key IS NOT NULL) OR (expires IS NOT NULL));
CREATE INDEX history_with_failures ON rolecall.history USING btree (at) WHERE ((width = 10) AND (failed > 0));
CREATE INDEX idle_marks_by_role ON rolecall.idle_marks USING btree (role, until);
CREATE INDEX idle_marks_by_worker ON rolecall.idle_marks USING btree (worker_id, until);
CREATE INDEX keys_with_a_capacity ON rolecall.keys USING btree (key) WHERE ((declared IS NOT NULL) OR (capacity IS NOT NULL));
CREATE INDEX known_browsers_by_person ON rolecall.known_browsers USING btree (person_id);
CREATE INDEX lines_by_handler ON rolecall.lines USING btree (handler);
CREATE INDEX lines_by_name ON rolecall.lines USING btree (role, handler, priority);
CREATE INDEX needs_by_needed ON rolecall.needs USING btree (needed_id);
CREATE UNIQUE INDEX one_open_continuation_per_chain ON rolecall.tasks USING btree (chain_id) WHERE (chain_index > 0);
CREATE UNIQUE INDEX one_task_per_dedupe_key ON rolecall.tasks USING btree (dedupe_key, COALESCE(dedupe_pending, false)) WHERE ((dedupe_key IS NOT NULL) AND ((dedupe_pending IS NOT TRUE) OR (fence = 0)));
CREATE UNIQUE INDEX places_of_keys ON rolecall.tasks USING btree (key, key_slot, (
CASE
    WHEN (key_slot < 0) THEN id
    ELSE NULL::bigint
END)) NULLS NOT DISTINCT WHERE (key_slot IS NOT NULL);
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
CREATE INDEX task_logs_by_time ON rolecall.task_logs USING btree (at);
CREATE INDEX task_owners_by_owner ON rolecall.task_owners USING btree (owner, task_id);
CREATE INDEX task_tokens_by_task ON rolecall.task_tokens USING btree (task_id);
CREATE INDEX tasks_beside_a_twin ON rolecall.tasks USING btree (dedupe_key) WHERE dedupe_pending;
CREATE INDEX tasks_by_parent ON rolecall.tasks USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);
CREATE INDEX tasks_expiring ON rolecall.tasks USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND (state = ANY (ARRAY['blocked'::rolecall.task_state, 'pending'::rolecall.task_state])));
CREATE INDEX tasks_held_up ON rolecall.tasks USING btree (id) WHERE (state = ANY (ARRAY['blocked'::rolecall.task_state, 'waiting'::rolecall.task_state]));
CREATE INDEX tasks_in_line ON rolecall.tasks USING btree (line_id, scheduled_for, id) WHERE ((state = 'pending'::rolecall.task_state) AND (NOT parked));
CREATE INDEX tasks_running ON rolecall.tasks USING btree (worker_id) WHERE (state = 'running'::rolecall.task_state);
CREATE INDEX tasks_tried_often ON rolecall.tasks USING btree (line_id) WHERE (attempt >= 5);
CREATE INDEX tasks_wanting_key ON rolecall.tasks USING btree (key, line_id, scheduled_for, id) WHERE ((state = 'pending'::rolecall.task_state) AND (key IS NOT NULL));
ALTER INDEX rolecall.finished_tasks_by_chain ATTACH PARTITION rolecall.finished_tasks_default_chain_id_chain_index_idx;
ALTER INDEX rolecall.finished_tasks_by_dedupe_key ATTACH PARTITION rolecall.finished_tasks_default_dedupe_key_created_at_idx;
ALTER INDEX rolecall.finished_tasks_by_error ATTACH PARTITION rolecall.finished_tasks_default_error_group_id_idx;
ALTER INDEX rolecall.finished_tasks_by_time ATTACH PARTITION rolecall.finished_tasks_default_finished_at_idx;
ALTER INDEX rolecall.finished_tasks_by_id ATTACH PARTITION rolecall.finished_tasks_default_id_idx;
ALTER INDEX rolecall.finished_tasks_by_key ATTACH PARTITION rolecall.finished_tasks_default_key_id_idx;
ALTER INDEX rolecall.finished_tasks_by_parent ATTACH PARTITION rolecall.finished_tasks_default_parent_id_parent_fence_idx;
ALTER INDEX rolecall.finished_tasks_not_completed ATTACH PARTITION rolecall.finished_tasks_default_state_id_idx;
ALTER INDEX rolecall.task_events_by_time ATTACH PARTITION rolecall.task_events_default_at_idx;
ALTER INDEX rolecall.task_events_by_task ATTACH PARTITION rolecall.task_events_default_task_id_idx;
CREATE TRIGGER forbid_changes BEFORE UPDATE OR TRUNCATE ON rolecall.audit_log FOR EACH STATEMENT EXECUTE FUNCTION rolecall.protect_audit_log();
CREATE TRIGGER forbid_early_deletion AFTER DELETE ON rolecall.audit_log REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION rolecall.protect_audit_log();
CREATE TRIGGER subtract_deleted_tasks AFTER DELETE ON rolecall.finished_tasks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION rolecall.uncount_finished();
ALTER TABLE ONLY rolecall.api_keys
    ADD CONSTRAINT api_keys_person_id_fkey FOREIGN KEY (person_id) REFERENCES rolecall.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY rolecall.known_browsers
    ADD CONSTRAINT known_browsers_person_id_fkey FOREIGN KEY (person_id) REFERENCES rolecall.people(id) ON DELETE CASCADE;
ALTER TABLE ONLY rolecall.sessions
    ADD CONSTRAINT sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES rolecall.people(id) ON DELETE CASCADE;
