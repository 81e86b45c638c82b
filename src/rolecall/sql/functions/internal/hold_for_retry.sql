-- Locks what has to do with ended tasks that may come back: what is open below them and what they need, which they are to wait for
-- again, and the open parents that are to wait for them.
-- returns: nothing
-- raises: nothing
-- locks: open children and needed tasks, children before parents; open parents, the deepest first, in id order; then the ended tasks in id order
-- notifies: nothing
create or replace function rolecall.hold_for_retry(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_held bigint[];
begin
    loop
        v_held := array(
            select task.id from rolecall.tasks as task
            where task.parent_id = any(p_ids)
                or task.id = any(array(select need.needed_id from rolecall.needs as need where need.task_id = any(p_ids)))
            order by task.id
            for update
        );
        -- A child's chain may have gone on while its last link was waited for.
        exit when not exists (
            select from rolecall.tasks as child where child.parent_id = any(p_ids) and child.id <> all(v_held)
        );
    end loop;
    perform from rolecall.tasks as parent
    where parent.id = any(array(
        select ended.parent_id from rolecall.finished_tasks as ended where ended.id = any(p_ids) and ended.parent_id is not null
    ))
    order by coalesce(parent.depth, 0) desc, parent.id
    for update;
    perform from rolecall.finished_tasks as ended
    where ended.id = any(p_ids) and ended.state in ('failed', 'cancelled')
    order by ended.id
    for update;
end
$$;
