-- Stores one task; for people in psql and for drivers that know no JSON.
-- returns: the task's id, or that of the open task with the same handler and dedupe_key
-- raises: as store_tasks
-- locks: the dedupe key; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
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
set search_path = ''
as $$
    select batch.ids[1]
    from rolecall.enqueue_many(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'role', p_role, 'handler', p_handler, 'priority', p_priority, 'scheduled_for', p_scheduled_for,
        'key', p_key, 'dedupe_key', p_dedupe_key, 'max_attempts', p_max_attempts
    )) || jsonb_build_object('payload', p_payload))) as batch
$$;

-- Stores a batch of tasks, all or none. An open task with the same handler and dedupe_key stands for the new
-- one, unless that says otherwise (`dedupe`).
-- returns: one row: the ids in input order, and which of them already stood
-- raises: as store_tasks
-- locks: as `store_tasks`: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.enqueue_many(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_draft constant jsonb := p_tasks -> 0;
    v_id bigint;
begin
    if not rolecall.is_durable() then
        perform rolecall.require_durability();
    end if;
    if p_tasks -> 1 is null and jsonb_typeof(v_draft) = 'object'
        and not v_draft ?| array['retry', 'timeout', 'on_failure', 'needs', 'dedupe'] then
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
    elsif p_tasks @? '$[*] ? (exists (@.needs) || exists (@.dedupe) || exists (@.dedupe_key))'
        or exists (select from rolecall.handlers as handler where handler.dedupe_key is not null) then
        return query select * from rolecall.store_beside_others(p_tasks);
    else
        return query select * from rolecall.store_tasks(p_tasks, null);
    end if;
end
$$;

-- Stores one task in a single statement, where that is all there is to do: the draft is sound, its role has
-- had such a task before, its handler declares no keys, and no task stands for it. What this does not store,
-- store_tasks resolves or refuses.
-- returns: the task's id; null where nothing was stored
-- locks: the dedupe key; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.enqueue_plain(
    p_role text, p_handler text, p_payload jsonb, p_priority int, p_moment timestamptz, p_after float8,
    p_key text, p_dedupe_key text, p_max_attempts int, p_trace_context text
)
returns bigint
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_id bigint;
    v_now constant timestamptz := rolecall.clock();
    v_due constant timestamptz := rolecall.due_at(p_moment, p_after, v_now);
    v_handler constant text := coalesce(p_handler, p_role);
    v_role text := p_role;
    v_dedupe_key constant text := v_handler || '/' || p_dedupe_key;
    v_awaited boolean;
begin
    if v_role is null then
        v_role := (select kind.role from rolecall.kind_of(null, p_handler, null) as kind);
    end if;
    insert into rolecall.tasks (
        id, chain_id, created_at, scheduled_for, line_id, max_attempts, key, dedupe_key, payload,
        trace_context
    )
    select
        sound.id, sound.id, v_now, greatest(v_due, v_now), sound.line_id, sound.max_attempts,
        case when sound.one_root then coalesce(p_key, 'role:' || sound.role) else p_key end,
        v_dedupe_key, coalesce(p_payload, '{}'), p_trace_context
    from (
        -- Drawn for what is stored here only: else the first tasks of all would not be 1, 2, 3.
        select nextval('rolecall.tasks_id_seq') as id, line.id as line_id, kind.*
        from rolecall.kind_of(v_role, v_handler, p_max_attempts) as kind
        cross join lateral (
            select min(line.id) as id
            from rolecall.lines as line
            where line.role = kind.role and line.handler = kind.handler
                and line.priority = coalesce(p_priority, 0) and line.misfit_for = '{}'
                and line.never_ahead = coalesce(kind.max_attempts = 1, false)
        ) as line
        where line.id is not null and not kind.keys
            and rolecall.task_problem(
                p_payload, kind.max_payload_bytes, p_priority, v_due, v_now, p_key, p_dedupe_key,
                p_max_attempts, null
            ) is null
            and rolecall.asking_problem(p_moment, p_after, p_trace_context) is null
            and (
                v_dedupe_key is null or (
                    select true
                    from rolecall.tasks as twin
                    where twin.dedupe_key = v_dedupe_key and twin.dedupe_pending
                    limit 1
                ) is null
            )
    ) as sound
    on conflict (dedupe_key, coalesce(dedupe_pending, false))
        where dedupe_key is not null and (dedupe_pending is not true or fence = 0) do nothing
    returning id, exists (
        select
        from rolecall.idle_marks as mark
        where mark.role in (v_role, '') and mark.until > v_now
    ) into v_id, v_awaited;
    if v_id is null then
        return null;
    end if;
    -- The key may have had it wait for another transaction: who was not idle then may be by now.
    if v_due <= v_now and (v_awaited or v_dedupe_key is not null) then
        perform rolecall.wake_line(v_role, v_handler, 1);
    end if;
    if rolecall.collects_events() then
        perform rolecall.note_stored(array[v_id]);
    end if;
    return v_id;
end
$$;

-- Stores a batch whose tasks need or change others, or that others may stand for, as store_tasks does: one
-- that stood for a task may be gone before it is met, and its key is had then out of order.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: as store_tasks
-- locks: as store_tasks
-- notifies: as store_tasks
create or replace function rolecall.store_beside_others(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
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
