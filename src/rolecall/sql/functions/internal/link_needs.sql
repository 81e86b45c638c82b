-- Ties blocked tasks to what they need. What has ended already is met at once, or fails them; who is still open is marked, so that
-- its end tells them: under its lock, so that no end can come in between.
-- returns: nothing
-- raises: RC040 something needed does not exist, or stands later in the batch; RC043 needs in a circle
-- locks: the needed tasks, children before parents
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.link_needs(p_needy jsonb, p_batch_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
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
