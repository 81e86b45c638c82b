-- Stores a schedule or changes the one of that name. For a person, what is not said keeps its value; for the app that declares it,
-- what is not said is the default.
-- returns: the schedule's id
-- raises: RC021 invalid schedule, RC022 it may not be changed so, RC023 it was changed meanwhile, RC031 unknown role
-- locks: the schedules row
-- notifies: nothing
create or replace function rolecall.store_schedule(p_said jsonb, p_declared jsonb)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_old rolecall.schedules;
    v_full jsonb;
    v_id bigint;
begin
    perform rolecall.require_durability();
    select * into v_old from rolecall.schedules where name = p_said ->> 'name' for update;
    v_full := rolecall.amended_schedule(case when p_declared is null then rolecall.schedule_document(v_old) else '{}' end, p_said);
    perform rolecall.check_schedule(v_full);
    perform rolecall.guard_schedule(v_old, v_full, p_declared);
    insert into rolecall.schedules as old (
        name, role, handler, payload, priority, key, every, cron, zone, misfire, overlap, jitter, enabled, immutable,
        next_run_at, created_at, declared
    )
    select
        given.name, coalesce(given.role, handler.role, given.handler), coalesce(given.handler, given.role),
        coalesce(given.payload, '{}'), coalesce(given.priority, 0), given.key, make_interval(secs => given.every), given.cron,
        coalesce(given.zone, 'UTC'), coalesce(given.misfire, 'one'), coalesce(given.overlap, 'queue'),
        make_interval(secs => coalesce(given.jitter, 0)), coalesce(given.enabled, true), coalesce(given.immutable, false),
        rolecall.next_plan(v_old, v_full, v_now), v_now, p_declared
    from jsonb_to_record(v_full) as given (
        name text, role text, handler text, payload jsonb, priority int, key text, every float8, cron text, zone text,
        misfire text, overlap text, jitter float8, enabled boolean, immutable boolean
    )
    left join rolecall.handlers as handler on handler.name = coalesce(given.handler, given.role)
    on conflict (name) do update
    set role = excluded.role, handler = excluded.handler, payload = excluded.payload, priority = excluded.priority,
        key = excluded.key, every = excluded.every, cron = excluded.cron, zone = excluded.zone, misfire = excluded.misfire,
        overlap = excluded.overlap, jitter = excluded.jitter, enabled = excluded.enabled, immutable = excluded.immutable,
        next_run_at = excluded.next_run_at, revision = old.revision + 1, declared = coalesce(p_declared, old.declared),
        edited_at = case when p_declared is null then v_now else old.edited_at end
    returning old.id into v_id;
    return v_id;
end
$$;
