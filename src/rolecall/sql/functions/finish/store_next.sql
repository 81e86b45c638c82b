-- Stores what reports say comes next: follow-ups, the chain's continuation, and siblings, which their
-- parent's count must have.
-- returns: whose chain ends nevertheless, as another task stands for the continuation
-- raises: RC031, RC040 for what is no task; RC043 for one that would wait for itself; RC044 siblings of a
-- task whose parent is not open; RC045 a dedupe_key that is to be new; RC050 wrong isolation level, where a
-- keyed task is put off
-- locks: dedupe keys in their order; needed tasks, children before parents; parents of siblings, the deepest
-- first, in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.store_next(p_next_tasks jsonb)
returns bigint[]
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_drafts jsonb;
    v_places rolecall.place[];
    v_stored record;
    v_stopped bigint[] := '{}';
    v_siblings record;
begin
    with done as (
        select * from jsonb_to_recordset(p_next_tasks) as given (
            next jsonb, id bigint, chain_id bigint, chain_index int, parent_id bigint, parent_fence int,
            depth int, priority int, scheduled_for timestamptz, needed boolean, on_failure rolecall.child_rule
        )
    ),
    draft as (
        select follow_up.draft,
            (null, null, done.id, null, null, null, null, null, null, null)::rolecall.place as place, done.id,
            n
        from done
        cross join lateral jsonb_array_elements(
            nullif(next -> 'follow_ups', 'null')
        ) with ordinality as follow_up (draft, n)
        union all
        select done.next -> 'continuation', (
            chain_id, chain_index + 1, done.id, parent_id, parent_fence, depth, priority, null, needed,
            on_failure
        )::rolecall.place, done.id, 0
        from done
        where nullif(done.next -> 'continuation', 'null') is not null
    )
    select jsonb_agg(draft.draft order by draft.id, draft.n),
        array_agg(draft.place order by draft.id, draft.n)
    into v_drafts, v_places
    from draft;
    perform rolecall.refuse('RC040', format('the chain %s goes on already', link.chain_id))
    from rolecall.tasks as link
    where link.chain_index > 0
        and link.chain_id = any(
            array(select place.chain_id from unnest(v_places) as place where place.chain_index > 0)
        );
    if v_drafts is not null then
        select * into v_stored from rolecall.store_tasks(v_drafts, v_places);
        perform rolecall.refuse_circle(array[link.id], link.id)
        from unnest(v_stored.ids) with ordinality as link (id, n)
        where v_drafts -> (link.n - 1)::int ? 'key' and v_places[link.n].chain_index > 0;
        v_stopped := array(
            select link.origin_id
            from unnest(v_places) with ordinality as link
            where link.chain_index > 0 and v_stored.ids[link.ordinality] = any(v_stored.deduplicated)
                and not exists (
                select
                from rolecall.tasks as task
                where task.id = v_stored.ids[link.ordinality] and task.chain_id = link.chain_id
            )
        );
        -- Only then: it looks into every day.
        if v_stopped <> '{}' then
            update rolecall.finished_tasks as task set continued = null where task.id = any(v_stopped);
        end if;
    end if;
    for v_siblings in
        select done.parent_id, done.parent_fence, done.next -> 'siblings' as drafts
        from jsonb_to_recordset(p_next_tasks) as done (
            next jsonb, id bigint, parent_id bigint, parent_fence int, depth int
        )
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
