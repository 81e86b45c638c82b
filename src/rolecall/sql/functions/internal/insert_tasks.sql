-- Stores a batch of tasks; of those whose dedupe_key already stands with an open task it stores nothing.
-- returns: one row: all ids in input order, and the input positions (from 1) that were not stored, in the
--          order of their dedupe keys
-- raises: RC031 unknown role, RC040 invalid task
-- locks: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.insert_tasks(p_tasks jsonb, p_chain_ids bigint[], p_chain_indexes int[])
returns table (ids bigint[], refused bigint[])
language plpgsql
volatile
set search_path = ''
as $$
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
