-- Locks open tasks with all that is open below them, in the order that everybody keeps.
-- returns: the tasks that are held
-- raises: RC090 one came or was claimed meanwhile: undo this and try again, as to wait for it now would be
-- out of order
-- locks: as hold_tasks does
create or replace function rolecall.hold_trees(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_all bigint[] := rolecall.with_open_descendants(p_ids);
    v_held bigint[];
begin
    perform rolecall.hold_tasks(v_all);
    v_all := rolecall.with_open_descendants(v_all);
    v_held := array(
        select task.id from rolecall.tasks as task where task.id = any(v_all) for update skip locked
    );
    if cardinality(v_held) < (select count(*) from rolecall.tasks as task where task.id = any(v_all)) then
        perform rolecall.refuse('RC090', 'a task came or was claimed while others were waited for');
    end if;
    return v_held;
end
$$;
