-- Stores the schedules that an app declares: those that are not there yet, and those whose declaration has
-- changed since. What people have made or changed stays as they want it.
-- returns: how many were stored
-- raises: RC021 invalid schedule, RC022, RC023 somebody stored or changed it meanwhile, RC031 unknown role,
-- RC040 what is no task
-- locks: the schedules rows, in name order
-- public: yes
create or replace function rolecall.ensure_schedules(p_schedules jsonb)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_said record;
    v_stored int := 0;
begin
    for v_said in
        select said.document, standing.id is not null as stands
        from jsonb_array_elements(p_schedules) as said (document)
        left join rolecall.schedules as standing on standing.name = said.document ->> 'name'
        where standing.id is null or (standing.edited_at is null and standing.declared <> said.document)
        order by said.document ->> 'name'
    loop
        -- The first run of one that stands is over, or planned.
        perform rolecall.store_schedule(
            case when v_said.stands then v_said.document - 'first_run_at' else v_said.document end,
            v_said.document
        );
        v_stored := v_stored + 1;
    end loop;
    return v_stored;
end
$$;
