-- Insists that every report says one of the known outcomes, and that a blocked one says what it needs.
-- returns: nothing
-- raises: RC042 unknown outcome, or nothing that is needed; RC040 what is no need
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
    where outcome is null or outcome not in ('completed', 'failed', 'snoozed', 'blocked', 'cancelled', 'returned', 'misfit')
    limit 1;
    if found then
        perform rolecall.refuse('RC042', format('the report on task %s has the unknown outcome %L', v_odd.id, v_odd.outcome));
    end if;
    select report.id, rolecall.needs_problem(report.needs) as problem into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text, needs jsonb)
    where outcome = 'blocked'
        and (report.needs is null or report.needs = '[]' or rolecall.needs_problem(report.needs) is not null)
    limit 1;
    if found then
        perform rolecall.refuse(
            case when v_odd.problem is null then 'RC042' else 'RC040' end,
            format('the report on task %s is blocked: %s', v_odd.id, coalesce(v_odd.problem, 'it says not by what'))
        );
    end if;
end
$$;
