-- Locks some tasks with all that is open below others, all before the first is changed.
-- returns: nothing
-- raises: RC090 one came meanwhile: undo this and try again
-- locks: what hold_tasks locks
-- notifies: nothing
create or replace function rolecall.hold_below(p_above bigint[], p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_all bigint[];
begin
    v_all := p_ids || array(
        select below.id from unnest(rolecall.with_open_descendants(p_above)) as below (id) where below.id <> all(p_above)
    );
    perform rolecall.hold_tasks(v_all);
    if exists (
        select from unnest(rolecall.with_open_descendants(p_above)) as below (id)
        where below.id <> all(p_above) and below.id <> all(v_all)
    ) then
        perform rolecall.refuse('RC090', 'a task came while others were waited for');
    end if;
end
$$;
