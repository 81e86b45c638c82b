-- Stores a batch of tasks, each in its given place, or as the first of its own chain. If there is an
-- existing task with the same handler and dedupe_key, the draft's dedupe mode decides. Drafts without a key
-- or expiry get those that their handler declares.
-- returns: one row: the ids in input order, and which of them existed already; no row if a plain batch has
-- an invalid task: the caller must raise its error, which undoes what was stored
-- raises: RC031 unknown role, RC040 invalid task or need, RC043 circular needs, RC045 the dedupe_key must
-- be new, RC050 wrong isolation level, if a task with a key is postponed
-- locks: windowed dedupe keys; dedupe keys in their order, waiting for an uncommitted task with the same
-- one; what `hold_tasks` locks, of tasks to change; then needed tasks, children before parents; finally the
-- schedule_runs rows of the creating tasks
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.store_tasks(p_tasks jsonb, p_places rolecall.place[])
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tasks jsonb := p_tasks;
    v_later bigint[] := '{}';
    v_stored record;
    v_met record;
    v_needy jsonb;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks must be an array of objects');
    end if;
    -- Most programs have no such handler.
    if exists (
        select from rolecall.handlers as handler
        where handler.key is not null or handler.dedupe_key is not null or handler.expires is not null
    ) then
        v_tasks := rolecall.with_declared_keys(p_tasks);
    end if;
    if p_places is null
        and not v_tasks @? '$[*] ? (exists (@.needs) || exists (@.dedupe) || exists (@.dedupe_key))' then
        select plain.ids, null::bigint[] as refused, null::jsonb as needy
        into v_stored
        from rolecall.insert_plain(v_tasks) as plain (ids);
        if v_stored.ids is null then
            return;
        end if;
    else
        if v_tasks @? '$[*].dedupe' then
            -- Checks within a window are done by one session at a time. With a thousand rows, the number of
            -- locks stays small even for long batches.
            perform from rolecall.latches as latch
            where latch.kind = 'dedupe' and latch.number = any(array(
                select hashtext(rolecall.full_dedupe_key(draft)) & 1023
                from jsonb_array_elements(v_tasks) as draft
                where draft -> 'dedupe' ->> 'scope' = 'any' and draft ->> 'dedupe_key' is not null
            ))
            order by latch.number
            for update;
            -- Drafts whose dedupe key an earlier draft of the batch has are stored after the others.
            v_later := array(
                select item.n
                from (
                    select n, row_number() over (
                        partition by rolecall.full_dedupe_key(draft) order by n
                    ) as turn
                    from jsonb_array_elements(v_tasks) with ordinality as given (draft, n)
                    where rolecall.full_dedupe_key(draft) is not null
                ) as item
                where item.turn > 1
            );
        end if;
        select * into v_stored from rolecall.insert_tasks(v_tasks, p_places, v_later);
    end if;
    ids := coalesce(v_stored.ids, '{}');
    deduplicated := '{}';
    v_needy := v_stored.needy;
    if v_stored.refused is not null then
        select * into v_met from rolecall.meet_twins(v_tasks, p_places, v_stored.refused, ids);
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
    if rolecall.collects_events() then
        perform rolecall.note_stored(array(select unnest(ids) except select unnest(deduplicated)));
    end if;
    return next;
end
$$;

-- Counts the follow-ups and children that scheduled tasks have created in the runs of their schedules.
-- locks: schedule_runs rows of tasks that the caller holds
create or replace function rolecall.note_generated(
    p_places rolecall.place[], p_ids bigint[], p_deduplicated bigint[]
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_makers bigint[] := array(
        select coalesce(place.parent_id, place.origin_id)
        from unnest(p_places) as place
        where coalesce(place.chain_index, 0) = 0
    );
begin
    -- Most tasks that create others do not belong to a schedule.
    if not exists (
        select
        from rolecall.schedule_runs as run
        where run.task_id = any(v_makers) and run.outcome = 'enqueued'
    ) then
        return;
    end if;
    with made as (
        select distinct coalesce(place.parent_id, place.origin_id) as maker,
            p_ids[place.ordinality::int] as id
        from unnest(p_places) with ordinality as place
        where coalesce(place.chain_index, 0) = 0
    ),
    -- A task that existed before the batch is a duplicate every time it occurs. One that an earlier draft
    -- of this batch created is new once.
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

-- Stores a batch of tasks that are the first of their chains and have neither needs nor dedupe keys. Each
-- kind of task is resolved once, and nothing is sorted.
-- returns: their ids in input order; null if one of them is invalid, and then the caller must raise its error
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.insert_plain(p_tasks jsonb)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_ids bigint[];
    v_lines int[];
    v_number bigint;
begin
    with draft as materialized (
        select
            nextval('rolecall.tasks_id_seq') as id, item.*, coalesce(item.handler, item.role, '') as name,
            coalesce(item.priority, 0) as level, rolecall.due_at(item.scheduled_for, item.after, v_now) as due
        from rows from (jsonb_to_recordset(p_tasks) as (
            role text, handler text, payload jsonb, priority int, scheduled_for timestamptz, after float8,
            key text, max_attempts int, retry jsonb, timeout float8, on_failure text, trace_context text,
            expires float8, expires_at timestamptz
        )) with ordinality as item (
            role, handler, payload, priority, scheduled_for, after, key, max_attempts, retry, timeout,
            on_failure, trace_context, expires, expires_at, n
        )
    ),
    kind as materialized (
        select wanted.*, found.role as role_name, found.max_attempts as most, found.max_payload_bytes,
            found.one_root, found.known, (
                select min(line.id) from rolecall.lines as line
                where line.role = found.role and line.handler = wanted.name and line.priority = wanted.level
                    and line.never_ahead = coalesce(found.max_attempts = 1, false) and line.misfit_for = '{}'
            ) as line_id
        from (select distinct role, handler, name, level, max_attempts from draft) as wanted
        cross join lateral (
            select * from rolecall.kind_of(wanted.role, wanted.handler, wanted.max_attempts) offset 0
        ) as found
    ),
    stored as (
        insert into rolecall.tasks (
            id, chain_id, created_at, scheduled_for, line_id, max_attempts, key, payload, retry, timeout,
            on_failure, trace_context, expires_at
        )
        select
            draft.id, draft.id, v_now, greatest(draft.due, v_now),
            coalesce(kind.line_id, rolecall.find_or_add_line(
                kind.role_name, draft.name, draft.level, coalesce(kind.most = 1, false), '{}'
            )),
            kind.most,
            case when kind.one_root then coalesce(draft.key, 'role:' || kind.role_name) else draft.key end,
            coalesce(draft.payload, '{}'), draft.retry, make_interval(secs => draft.timeout),
            draft.on_failure::rolecall.child_rule, draft.trace_context,
            rolecall.expiry_of(draft.expires_at, draft.expires, draft.due, v_now)
        from draft
        join kind on kind.name = draft.name and kind.level = draft.level
            and kind.role is not distinct from draft.role
            and kind.handler is not distinct from draft.handler
            and kind.max_attempts is not distinct from draft.max_attempts
        cross join lateral (
            select coalesce(
                rolecall.task_problem(
                    draft.payload, kind.max_payload_bytes, draft.priority, draft.due, v_now, draft.key, null,
                    draft.max_attempts, draft.retry, draft.scheduled_for, draft.after, draft.trace_context
                ),
                rolecall.edge_problem(
                    draft.timeout, draft.on_failure, null, draft.expires_at, draft.expires, draft.due, v_now
                )
            ) as text
        ) as problem
        where kind.known is not null and problem.text is null
        returning line_id, scheduled_for
    )
    select
        array(select draft.id from draft order by draft.n),
        array(select stored.line_id from stored where stored.scheduled_for <= v_now),
        (select count(*) from stored)
    into v_ids, v_lines, v_number;
    if v_number < cardinality(v_ids) then
        return null;
    end if;
    perform rolecall.wake_lines(v_lines);
    return v_ids;
end
$$;

-- Stores a batch of tasks, except drafts with an existing task and those in p_later.
-- returns: one row: all ids in input order; the input positions (from 1) that were not stored, in the order
-- of their dedupe keys; and the needs of stored tasks, as `link_needs` takes them
-- raises: RC031 unknown role, RC040 invalid task
-- locks: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.insert_tasks(p_tasks jsonb, p_places rolecall.place[], p_later bigint[])
returns table (ids bigint[], refused bigint[], needy jsonb)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    with place as materialized (
        select * from unnest(p_places) with ordinality
    ),
    draft as materialized (
        select nextval('rolecall.tasks_id_seq') as id, read.*
        from (select * from rolecall.drafts_of(p_tasks, v_now) order by n) as read
    ),
    placed as materialized (
        select draft.*, place.chain_id, place.chain_index, place.origin_id, place.parent_id,
            place.parent_fence, place.depth,
            place.needed, place.fire_time, coalesce(draft.priority, place.priority, 0) as level,
            case when place.parent_id is null or draft.due > v_now then greatest(draft.due, v_now)
                else coalesce(place.scheduled_for, v_now) end as turn,
            coalesce(draft.on_failure, place.on_failure) as rule,
            -- A task that must not run twice is never prefetched, because a dying worker would lose its
            -- only attempt.
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
            id, chain_id, chain_index, created_at, scheduled_for, line_id, max_attempts, key, dedupe_key,
            payload, retry,
            timeout, origin_id, parent_id, parent_fence, depth, needed, on_failure, state, open_needs,
            dedupe_pending, trace_context, expires_at, fire_time
        )
        select
            placed.id, coalesce(placed.chain_id, placed.id), coalesce(placed.chain_index, 0), v_now,
            placed.turn,
            coalesce(
                line.id,
                rolecall.find_or_add_line(placed.role, placed.handler, placed.level, placed.never_ahead, '{}')
            ),
            placed.max_attempts,
            case
                when placed.one_root and placed.parent_id is null
                    then coalesce(placed.key, 'role:' || placed.role)
                else placed.key
            end,
            placed.dedupe_key, placed.payload, placed.retry, placed.timeout, placed.origin_id,
            placed.parent_id, placed.parent_fence, placed.depth, placed.needed, placed.rule,
            case when placed.needs is null then 'pending' else 'blocked' end::rolecall.task_state,
            jsonb_array_length(placed.needs),
            -- Whether it can coexist with an open task that has its dedupe_key: because only pending tasks
            -- count, or because the open one belongs to the chain that is skipped.
            case when placed.dedupe is not null then coalesce(
                nullif(rolecall.dedupe_scope(placed.dedupe) = 'pending', false),
                (
                    select true
                    from rolecall.tasks as task
                    where task.dedupe_key = placed.dedupe_key and task.dedupe_pending is not true
                        and task.fence > 0
                        and task.chain_id = (placed.dedupe ->> 'except_chain')::bigint
                    limit 1
                )
            ) end,
            placed.trace_context, placed.expires_at, placed.fire_time
        from placed
        left join line using (role, handler, level, never_ahead)
        where placed.dedupe_key is null or placed.n <> all(p_later) and case
            when placed.dedupe is not null then rolecall.find_twin(
                placed.dedupe_key, placed.dedupe, p_places[placed.n]
            ) is null
            -- Not `exists`, which might be evaluated by listing all pending tasks with a dedupe key.
            else (
                select true
                from rolecall.tasks as twin
                where twin.dedupe_key = placed.dedupe_key and twin.dedupe_pending limit 1
            ) is null
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
        array_agg(coalesce(stored.line_id, line.id)) filter (
            where placed.turn <= v_now and placed.needs is null
        )
    into ids, refused, needy, v_lines
    from placed
    left join stored on stored.id = placed.id
    left join line using (role, handler, level, never_ahead);
    perform rolecall.wake_lines(v_lines);
    return next;
end
$$;

-- Collects events: tasks were stored, chains began with those that are the first of theirs, and some are
-- blocked. Plain tasks are counted by role and handler, because an object for each of thousands would cost
-- more than storing them.
create or replace function rolecall.note_stored(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_alike jsonb;
    v_others bigint[];
begin
    with stored as (
        select task.id, task.key, line.role, line.handler,
            task.chain_index = 0 and task.parent_id is null and task.state <> 'blocked' as plain
        from unnest(p_ids) as given (id)
        join rolecall.tasks as task using (id)
        join rolecall.lines as line on line.id = task.line_id
    ),
    alike as (
        select stored.role, stored.handler, jsonb_agg(stored.id order by stored.id) as ids,
            case when count(stored.key) > 0 then jsonb_agg(stored.key order by stored.id) end as keys
        from stored
        where stored.plain
        group by stored.role, stored.handler
    )
    select
        (select jsonb_agg(jsonb_strip_nulls(to_jsonb(alike) || '{"type": "job_created"}')) from alike),
        array(select stored.id from stored where not stored.plain)
    into v_alike, v_others;
    perform rolecall.note_events(v_alike);
    if v_others <> '{}' then
        perform rolecall.note_open('job_created', v_others);
        perform rolecall.note_open('chain_created', array(
            select task.id
            from unnest(v_others) as given (id)
            join rolecall.tasks as task using (id)
            where task.chain_index = 0
        ));
        perform rolecall.note_open('job_blocked', v_others);
    end if;
end
$$;

-- Finds or adds the line of a role, handler and priority, for tasks that are incompatible with the given
-- signature digests. Never waits for another transaction that adds the same line.
-- returns: the line's id
create or replace function rolecall.find_or_add_line(
    p_role text, p_handler text, p_priority int, p_never_ahead boolean, p_misfit_for text[]
)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
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
