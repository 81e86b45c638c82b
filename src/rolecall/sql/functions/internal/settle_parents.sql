-- Takes ended children off their parents' counts; a parent whose last child that was goes on.
-- returns: one row: the keys and endings of parents that ended with that
-- raises: nothing
-- locks: parents in id order
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.settle_parents(p_children rolecall.ending[])
returns table (keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_parents bigint[];
    v_numbers int[];
    v_last bigint[];
begin
    select array_agg(parent.parent_id), array_agg(parent.number) into v_parents, v_numbers
    from (
        select child.parent_id, count(*)::int as number
        from unnest(p_children) as child
        group by child.parent_id
    ) as parent;
    perform from rolecall.tasks as task where task.id = any(v_parents) order by task.id for update;
    v_last := array(
        select task.id
        from unnest(v_parents, v_numbers) as ended (id, number)
        join rolecall.tasks as task using (id)
        where task.state = 'waiting' and task.open_children = ended.number
        order by task.id
    );
    update rolecall.tasks as task
    set open_children = nullif(task.open_children - ended.number, 0)
    from unnest(v_parents, v_numbers) as ended (id, number)
    where task.id = ended.id and task.id <> all(v_last);
    return query select * from rolecall.resume_parents(v_last);
end
$$;
