-- Brings tasks back as retry does, unless something was waited for too long.
-- returns: one row a given id: pending, open (not finished), completed (not to be retried), duplicate (an open task has its
--          dedupe key), missing
-- raises: RC043 tasks that would wait for themselves; 55P03, RC090 undo this and try again
-- locks: open children and needed tasks, children before parents; open parents, the deepest first, in id order; finished_tasks rows in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.try_to_retry(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_back bigint[];
begin
    perform rolecall.hold_for_retry(p_ids);
    v_back := rolecall.bring_back(p_ids);
    perform rolecall.await_needs_again(v_back);
    perform rolecall.wake_lines(array(
        select task.line_id from rolecall.tasks as task
        where task.id = any(v_back) and task.state = 'pending'
    ));
    return query
    select given.id, coalesce(
        case when given.id = any(v_back) then 'pending' end,
        (select 'open' from rolecall.tasks as task where task.id = given.id),
        (
            select case finished.state when 'completed' then 'completed' else 'duplicate' end
            from rolecall.finished_tasks as finished
            where finished.id = given.id
            limit 1
        ),
        'missing'
    )
    from unnest(p_ids) as given (id);
end
$$;
