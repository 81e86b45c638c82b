-- Lets a task stand for a new one. Where only unclaimed ones do, it is kept from being claimed until this transaction ends: its
-- handler is to see what the transaction writes.
-- returns: false when the task was claimed or ended meanwhile
-- raises: nothing
-- locks: the task, shared, where it is to be unclaimed
-- notifies: rolecall_wake, where an idle worker waits for the role: it may have passed the locked task over
create or replace function rolecall.keep_twin(p_id bigint, p_dedupe jsonb)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    if rolecall.dedupe_scope(p_dedupe) <> 'pending' then
        return true;
    end if;
    perform from rolecall.tasks as task where task.id = p_id and task.fence = 0 for share;
    if not found then
        return false;
    end if;
    perform rolecall.wake_lines(array(
        select task.line_id from rolecall.tasks as task
        where task.id = p_id and task.state = 'pending' and task.scheduled_for <= rolecall.clock()
    ));
    return true;
end
$$;
