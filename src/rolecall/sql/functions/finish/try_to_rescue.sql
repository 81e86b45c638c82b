-- Lets go of expired claims, unless something was waited for too long, or came meanwhile.
-- returns: one row a rescued task, with the state it went to
-- raises: 55P03, RC090 undo this and try again
-- locks: the caller holds the tasks; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.try_to_rescue(p_expired jsonb)
returns table (task_id bigint, state rolecall.task_state)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_let_go record;
begin
    select * into v_let_go from rolecall.let_go(p_expired);
    perform rolecall.end_sessions(v_let_go.ids);
    perform rolecall.conclude(v_let_go.endings, v_let_go.keys);
    return query select * from unnest(v_let_go.ids, v_let_go.states);
end
$$;
