-- Stores one task. For psql, and for drivers without JSON.
-- returns: the task's id, or that of the open task with the same handler and dedupe_key
-- raises: as store_tasks
-- locks: the dedupe key; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.enqueue(
    p_role text,
    p_payload jsonb default '{}',
    p_handler text default null,
    p_priority int default 0,
    p_scheduled_for timestamptz default null,
    p_key text default null,
    p_dedupe_key text default null,
    p_max_attempts int default null
)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select batch.ids[1]
    from rolecall.enqueue_many(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'role', p_role, 'handler', p_handler, 'priority', p_priority, 'scheduled_for', p_scheduled_for,
        'key', p_key, 'dedupe_key', p_dedupe_key, 'max_attempts', p_max_attempts
    )) || jsonb_build_object('payload', p_payload))) as batch
$$;

-- Stores a batch of tasks, all or none. A draft with the handler and dedupe_key of an open task is not
-- stored, unless its `dedupe` sets something else.
-- returns: one row: the ids in input order, and which of them existed already
-- raises: as store_tasks
-- locks: as `store_tasks`: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.enqueue_many(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_draft constant jsonb := p_tasks -> 0;
    v_id bigint;
    v_error record;
begin
    perform rolecall.require_durability();
    -- A draft with another field is stored by store_tasks.
    if p_tasks -> 1 is null and jsonb_typeof(v_draft) = 'object' and v_draft - '{
        role, handler, payload, priority, scheduled_for, after, key, dedupe_key, max_attempts, trace_context
    }'::text[] = '{}' then
        v_id := rolecall.enqueue_plain(
            v_draft ->> 'role', v_draft ->> 'handler', v_draft -> 'payload', (v_draft ->> 'priority')::int,
            (v_draft ->> 'scheduled_for')::timestamptz, (v_draft ->> 'after')::float8, v_draft ->> 'key',
            v_draft ->> 'dedupe_key', (v_draft ->> 'max_attempts')::int, v_draft ->> 'trace_context'
        );
    end if;
    if v_id is not null then
        ids := array[v_id];
        deduplicated := '{}';
        return next;
        return;
    end if;
    if p_tasks @? '$[*] ? (exists (@.needs) || exists (@.dedupe) || exists (@.dedupe_key))'
        or exists (select from rolecall.handlers as handler where handler.dedupe_key is not null) then
        return query select * from rolecall.store_beside_others(p_tasks);
    else
        return query select * from rolecall.store_tasks(p_tasks, null);
    end if;
    if not found then
        select * into v_error from rolecall.error_of_drafts(p_tasks);
        -- Raised here: psql prints the text of every statement between the call and the error.
        raise exception using errcode = v_error.code, message = v_error.text, hint = v_error.hint;
    end if;
end
$$;

-- Finds the error of a batch that store_tasks did not store.
-- returns: one row: its SQLSTATE, message and hint
create or replace function rolecall.error_of_drafts(p_tasks jsonb)
returns table (code text, text text, hint text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.drafts_of(rolecall.with_declared_keys(p_tasks), rolecall.clock());
exception when sqlstate 'RC031' or sqlstate 'RC040' then
    get stacked diagnostics code = returned_sqlstate, text = message_text, hint = pg_exception_hint;
    return next;
end
$$;

-- Stores one task with two small statements in the simple case: the draft is valid, its role has had such a
-- task before, its handler declares nothing for it, and there is no existing task. Everything else is left
-- to store_tasks, which also raises the errors. Each call initializes every relation that a statement
-- names, so the statements name as few as possible.
-- returns: the task's id; null if nothing was stored
-- locks: the dedupe key; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.enqueue_plain(
    p_role text, p_handler text, p_payload jsonb, p_priority int, p_moment timestamptz, p_after float8,
    p_key text, p_dedupe_key text, p_max_attempts int, p_trace_context text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_id bigint;
    v_now constant timestamptz := rolecall.clock();
    v_due timestamptz := v_now;
    v_handler constant text := coalesce(p_handler, p_role);
    v_role text := p_role;
    v_dedupe_key constant text := v_handler || '/' || p_dedupe_key;
    v_kind record;
begin
    if v_role is null then
        v_role := (select kind.role from rolecall.kind_of(null, p_handler, null) as kind);
    end if;
    select kind.max_attempts, kind.max_payload_bytes, kind.one_root, kind.keys, (
        select min(line.id)
        from rolecall.lines as line
        where line.role = v_role and line.handler = v_handler and line.priority = coalesce(p_priority, 0)
            and line.never_ahead = coalesce(kind.max_attempts = 1, false) and line.misfit_for = '{}'
    ) as line_id, exists (
        select
        from rolecall.idle_marks as mark
        where mark.role in (v_role, '') and mark.until > v_now
    ) as awaited
    into v_kind
    from rolecall.kind_of(v_role, v_handler, p_max_attempts) as kind;
    if v_kind.line_id is null or v_kind.keys then
        return null;
    end if;
    -- In a draft with only a role, a handler and a payload, only the payload can be invalid.
    if num_nonnulls(p_priority, p_moment, p_after, p_key, p_dedupe_key, p_max_attempts, p_trace_context) > 0
        or jsonb_typeof(p_payload) <> 'object'
        or pg_column_size(p_payload) > v_kind.max_payload_bytes / 64 then
        v_due := rolecall.due_at(p_moment, p_after, v_now);
        if rolecall.task_problem(
            p_payload, v_kind.max_payload_bytes, p_priority, v_due, v_now, p_key, p_dedupe_key,
            p_max_attempts, null, p_moment, p_after, p_trace_context
        ) is not null then
            return null;
        end if;
    end if;
    if v_dedupe_key is not null then
        perform from rolecall.tasks as twin
        where twin.dedupe_key = v_dedupe_key and twin.dedupe_pending
        limit 1;
        if found then
            return null;
        end if;
    end if;
    -- Taken only if the task is stored here: otherwise the first task ids would not be 1, 2, 3.
    v_id := nextval('rolecall.tasks_id_seq');
    insert into rolecall.tasks (
        id, chain_id, created_at, scheduled_for, line_id, max_attempts, key, dedupe_key, payload,
        trace_context
    )
    values (
        v_id, v_id, v_now, greatest(v_due, v_now), v_kind.line_id, v_kind.max_attempts,
        case when v_kind.one_root then coalesce(p_key, 'role:' || v_role) else p_key end,
        v_dedupe_key, coalesce(p_payload, '{}'), p_trace_context
    )
    on conflict (dedupe_key, coalesce(dedupe_pending, false))
        where dedupe_key is not null and (dedupe_pending is not true or fence = 0) do nothing;
    if not found then
        return null;
    end if;
    -- The insert may have waited for another transaction's dedupe key, and workers may have become idle
    -- meanwhile.
    if v_due <= v_now and (v_kind.awaited or v_dedupe_key is not null) then
        perform rolecall.wake_line(v_role, v_handler, 1);
    end if;
    if rolecall.collects_events() then
        perform rolecall.note_stored(array[v_id]);
    end if;
    return v_id;
end
$$;

-- Stores a batch in which tasks need or change others, or may have existing tasks, as store_tasks does. An
-- existing task may finish before the batch reaches it, and then its dedupe key is locked out of order.
-- returns: one row: the ids in input order, and which of them existed already
-- raises: as store_tasks
-- locks: as store_tasks
-- notifies: as store_tasks
create or replace function rolecall.store_beside_others(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_hint text;
begin
    loop
        begin
            return query select * from rolecall.store_tasks(p_tasks, null);
            return;
        exception
            when lock_not_available or deadlock_detected or sqlstate 'RC090' then
                perform rolecall.wait_longer();
            when sqlstate 'RC031' or sqlstate 'RC040' then
                -- Raised again without the statements that psql would print.
                get stacked diagnostics v_hint = pg_exception_hint;
                raise exception using errcode = sqlstate, message = sqlerrm, hint = v_hint;
        end;
    end loop;
end
$$;
