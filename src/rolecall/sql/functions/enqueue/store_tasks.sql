-- Stores a batch of tasks, each in the place given for it, else as the first of its own chain. Where a task
-- with the same handler and dedupe_key stands for a new one, the new one's dedupe mode decides. What says no
-- key gets the one that its handler declares.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: RC031 unknown role, RC040 invalid task or need, RC043 needs in a circle, RC045 a dedupe_key that is
-- to be new, RC050 wrong isolation level, where a keyed task is put off
-- locks: windowed dedupe keys; dedupe keys in their order, waiting for an uncommitted task with the same one;
-- what `hold_tasks` locks, of tasks to change; then needed tasks, children before parents; last the history
-- of the schedules that made the makers
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.store_tasks(p_tasks jsonb, p_places rolecall.place[])
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_tasks jsonb := p_tasks;
    v_later bigint[] := '{}';
    v_stored record;
    v_met record;
    v_needy jsonb;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    -- Most programs have no such handler.
    if exists (
        select from rolecall.handlers as handler
        where handler.key is not null or handler.dedupe_key is not null
    ) then
        v_tasks := rolecall.with_declared_keys(p_tasks);
    end if;
    if v_tasks @? '$[*].dedupe' then
        v_later := rolecall.prepare_dedupe(v_tasks);
    end if;
    select * into v_stored from rolecall.insert_tasks(v_tasks, p_places, v_later);
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
    return next;
end
$$;

-- Counts, in the history of schedules, what their tasks have brought into the pool: follow-ups and children.
-- locks: schedule_runs rows of tasks that the caller holds
create or replace function rolecall.note_generated(
    p_places rolecall.place[], p_ids bigint[], p_deduplicated bigint[]
)
returns void
language plpgsql
volatile
set search_path = ''
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
    -- Most tasks that make others are no schedule's.
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
    -- A task that stood before is deduplicated each time that it is met, one that a twin in this batch met is
    -- not.
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

-- Stores a batch of tasks; of those for whose dedupe_key a task stands already, and of those to come later,
-- it stores nothing.
-- returns: one row: all ids in input order; the input positions (from 1) that were not stored, in the order
-- of their dedupe keys; and the stored ones that need others, as `link_needs` takes them
-- raises: RC031 unknown role, RC040 invalid task
-- locks: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.insert_tasks(p_tasks jsonb, p_places rolecall.place[], p_later bigint[])
returns table (ids bigint[], refused bigint[], needy jsonb)
language plpgsql
volatile
set search_path = ''
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
        from (select * from rolecall.read_drafts(p_tasks, v_now) order by n) as read
    ),
    placed as materialized (
        select draft.*, place.chain_id, place.chain_index, place.origin_id, place.parent_id,
            place.parent_fence, place.depth,
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
            id, chain_id, chain_index, created_at, scheduled_for, line_id, max_attempts, key, dedupe_key,
            payload, retry,
            timeout, origin_id, parent_id, parent_fence, depth, needed, on_failure, state, open_needs,
            dedupe_pending
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
            case
                when placed.dedupe is not null then rolecall.coexists(placed.dedupe_key, placed.dedupe)
            end
        from placed
        left join line using (role, handler, level, never_ahead)
        where placed.dedupe_key is null or placed.n <> all(p_later) and case
            when placed.dedupe is not null then rolecall.find_twin(
                placed.dedupe_key, placed.dedupe, p_places[placed.n]
            ) is null
            -- Not `exists`, which may be answered from a list of all that stand beside a twin.
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

-- Says whether a new task may stand beside an open one with the same dedupe_key: because only unclaimed ones
-- stand for it, or because the one that does so belongs to a chain that does not count.
-- returns: true, else null
create or replace function rolecall.coexists(p_dedupe_key text, p_dedupe jsonb)
returns boolean
language sql
volatile
set search_path = ''
as $$
    select true
    where rolecall.dedupe_scope(p_dedupe) = 'pending' or exists (
        select from rolecall.tasks as task
        where task.dedupe_key = p_dedupe_key and task.dedupe_pending is not true
            and task.fence > 0 and task.chain_id = (p_dedupe ->> 'except_chain')::bigint
    )
$$;

-- Finds or adds the line of a role, handler and priority, with those who may not take its tasks; never waits
-- for another transaction that adds the same.
-- returns: the line's id
create or replace function rolecall.find_or_add_line(
    p_role text, p_handler text, p_priority int, p_never_ahead boolean, p_misfit_for text[]
)
returns int
language plpgsql
volatile
set search_path = ''
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
