-- Insists that every report says one of the known outcomes.
-- returns: nothing
-- raises: RC042 unknown outcome
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.check_outcomes(p_reports jsonb)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
    v_odd record;
begin
    select * into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text)
    where outcome is null or outcome not in ('completed', 'failed', 'snoozed', 'cancelled')
    limit 1;
    if found then
        perform rolecall.refuse('RC042', format('the report on task %s has the unknown outcome %L', v_odd.id, v_odd.outcome));
    end if;
end
$$;
