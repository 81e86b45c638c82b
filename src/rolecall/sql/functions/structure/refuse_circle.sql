-- Refuses tasks that, through needs, children and the keys that others keep, would wait for one that waits
-- for them.
-- raises: RC043 a circle
create or replace function rolecall.refuse_circle(p_ids bigint[], p_target bigint)
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
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
                where need.task_id = wait.id and need.outcome is null
                    and task.parent_id is distinct from p_target
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
        perform rolecall.refuse(
            'RC043', format('task %s would wait for itself: through needs, children or a key', p_target)
        );
    end if;
end
$$;
