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
                when placed.dedupe is not null then rolecall.stands_beside(placed.dedupe_key, placed.dedupe)
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
create or replace function rolecall.stands_beside(p_dedupe_key text, p_dedupe jsonb)
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
