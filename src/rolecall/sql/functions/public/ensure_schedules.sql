-- Stores those of an app's schedules that are not there yet; what people have changed since stays as they want it.
-- returns: how many were stored
-- raises: RC021 invalid schedule, RC031 unknown role
-- locks: the schedules rows, in name order
-- notifies: nothing
create or replace function rolecall.ensure_schedules(p_schedules jsonb)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_said jsonb;
    v_stored int := 0;
begin
    for v_said in
        select said from jsonb_array_elements(p_schedules) as said
        where not exists (select from rolecall.schedules where schedules.name = said ->> 'name')
        order by said ->> 'name'
    loop
        perform rolecall.put_schedule(v_said);
        v_stored := v_stored + 1;
    end loop;
    return v_stored;
end
$$;
