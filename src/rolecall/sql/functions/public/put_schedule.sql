-- Stores a schedule or changes the one of that name; what is not said keeps its value. A new one first runs at first_run_at,
-- or now; a changed interval counts from the last run.
-- returns: the schedule's id
-- raises: RC021 invalid schedule, RC031 unknown role
-- locks: the schedules row
-- notifies: nothing
create or replace function rolecall.put_schedule(p_schedule jsonb)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_id bigint;
begin
    perform rolecall.require_durability();
    perform rolecall.check_schedule(p_schedule);
    with said as (
        select given.*, coalesce(given.role, handler.role, given.handler) as lane
        from jsonb_to_record(p_schedule) as given (
            name text, role text, handler text, payload jsonb, priority int, key text, every float8, enabled boolean,
            first_run_at timestamptz
        )
        left join rolecall.handlers as handler on handler.name = coalesce(given.handler, given.role)
    )
    insert into rolecall.schedules as old (
        name, role, handler, payload, priority, key, every, enabled, next_run_at, created_at
    )
    select
        name, lane, coalesce(handler, role), coalesce(payload, '{}'), coalesce(priority, 0), key,
        make_interval(secs => every), coalesce(enabled, true), coalesce(first_run_at, v_now), v_now
    from said
    on conflict (name) do update
    set role = excluded.role, handler = excluded.handler, payload = coalesce(nullif(p_schedule -> 'payload', 'null'), old.payload),
        priority = coalesce((p_schedule ->> 'priority')::int, old.priority), key = coalesce(p_schedule ->> 'key', old.key),
        every = excluded.every, enabled = coalesce((p_schedule ->> 'enabled')::boolean, old.enabled),
        next_run_at = case
            when p_schedule ->> 'first_run_at' is not null then excluded.next_run_at
            when old.every <> excluded.every then coalesce(old.last_run_at, v_now) + excluded.every
            else old.next_run_at
        end
    returning old.id into v_id;
    return v_id;
end
$$;
