-- Locks the tasks of some reports, then their keys, before outcomes of several kinds take them kind by kind.
-- returns: nothing
-- raises: nothing
-- locks: tasks rows in id order; keys rows in key order
-- notifies: nothing
create or replace function rolecall.lock_claims(p_reports jsonb)
returns void
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
declare
    v_ids bigint[] := array(select id from jsonb_to_recordset(p_reports) as report (id bigint));
begin
    perform from rolecall.tasks where id = any(v_ids) order by id for update;
    perform from rolecall.keys
    where key = any(array(select task.key from rolecall.tasks as task where task.id = any(v_ids) and task.key is not null))
    order by key
    for update;
end
$$;
