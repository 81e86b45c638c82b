-- Stores a schedule, or changes the one of that name, on behalf of a person. Omitted settings keep their
-- values. A new schedule first runs at first_run_at, otherwise an interval immediately and a cron
-- expression at its next fire time. A changed interval counts from the last run. `revision` is the revision
-- that the change is based on, 0 for a new schedule.
-- returns: the schedule's id
-- raises: RC021 invalid schedule, RC022 it exists already or must not be changed, RC023 it was changed in
-- the meantime, RC031 unknown role, RC040 invalid task
-- locks: the schedules row
-- public: yes
create or replace function rolecall.put_schedule(p_schedule jsonb)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
    select rolecall.store_schedule(p_schedule, null)
$$;

-- Stores the schedules that an app declares: new ones, and those whose declaration has changed. Schedules
-- that a person stored or edited are left alone. A schedule with a `formerly` name is renamed and keeps its
-- history; workers of the previous release do not add the old one again. A withdrawn schedule is enabled
-- again.
-- returns: how many were stored
-- raises: RC021 invalid schedule, RC022, RC023 a person stored or changed it in the meantime, RC031 unknown
-- role, RC040 invalid task
-- locks: the schedules rows, in name order
-- public: yes
create or replace function rolecall.ensure_schedules(p_schedules jsonb)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_item record;
    v_stored int := 0;
begin
    update rolecall.schedules as standing
    set name = item.document ->> 'name', revision = standing.revision + 1,
        declared = standing.declared || jsonb_build_object('formerly', standing.name)
    from jsonb_array_elements(p_schedules) as item (document)
    where standing.name = item.document ->> 'formerly'
        and not exists (select from rolecall.schedules as other where other.name = item.document ->> 'name');
    update rolecall.schedules as standing
    set withdrawn = null
    from jsonb_array_elements(p_schedules) as item (document)
    where standing.name = item.document ->> 'name' and standing.edited_at is not null
        and standing.withdrawn is not null;
    for v_item in
        select item.document, standing.id is not null as stands
        from jsonb_array_elements(p_schedules) as item (document)
        left join rolecall.schedules as standing on standing.name = item.document ->> 'name'
        where (
            standing.id is null
            or standing.edited_at is null
                and (standing.declared <> item.document or standing.withdrawn is not null)
        )
            and not exists (
                select from rolecall.schedules as renamed
                where renamed.declared ->> 'formerly' = item.document ->> 'name'
            )
        order by item.document ->> 'name'
    loop
        -- An existing schedule has already run, or has a planned run.
        perform rolecall.store_schedule(
            case when v_item.stands then v_item.document - 'first_run_at' else v_item.document end,
            v_item.document
        );
        v_stored := v_stored + 1;
    end loop;
    return v_stored;
end
$$;

-- Stores a schedule, or changes the one of that name. Omitted settings keep their values if a person stores
-- it, and are the defaults if an app declares it.
-- returns: the schedule's id
-- raises: RC021 invalid schedule, RC022 it must not be changed, RC023 it was changed in the meantime, RC031
-- unknown role, RC040 invalid task
-- locks: the schedules row
create or replace function rolecall.store_schedule(p_said jsonb, p_declared jsonb)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_old rolecall.schedules;
    v_full jsonb;
    v_id bigint;
begin
    perform rolecall.require_durability();
    select * into v_old from rolecall.schedules where name = p_said ->> 'name' for update;
    v_full := rolecall.amended_schedule(
        case when p_declared is null then rolecall.schedule_document(v_old) else '{}' end, p_said
    );
    perform rolecall.check_schedule(v_full);
    perform rolecall.guard_schedule(v_old, v_full, p_declared);
    insert into rolecall.schedules as old (
        name, role, handler, payload, priority, key, every, cron, zone, misfire, overlap, jitter, enabled,
        immutable, next_run_at, created_at, declared
    )
    select
        given.name, coalesce(given.role, handler.role, given.handler), coalesce(given.handler, given.role),
        coalesce(given.payload, '{}'), coalesce(given.priority, 0), given.key,
        make_interval(secs => given.every), given.cron, coalesce(given.zone, 'UTC'),
        coalesce(given.misfire, 'one'), coalesce(given.overlap, 'queue'),
        make_interval(secs => coalesce(given.jitter, 0)), coalesce(given.enabled, true),
        coalesce(given.immutable, false), rolecall.next_plan(v_old, v_full, v_now), v_now, p_declared
    from jsonb_to_record(v_full) as given (
        name text, role text, handler text, payload jsonb, priority int, key text, every float8, cron text,
        zone text, misfire text, overlap text, jitter float8, enabled boolean, immutable boolean
    )
    left join rolecall.handlers as handler on handler.name = coalesce(given.handler, given.role)
    on conflict (name) do update
    set role = excluded.role, handler = excluded.handler, payload = excluded.payload,
        priority = excluded.priority, key = excluded.key, every = excluded.every, cron = excluded.cron,
        zone = excluded.zone, misfire = excluded.misfire, overlap = excluded.overlap,
        jitter = excluded.jitter, enabled = excluded.enabled, immutable = excluded.immutable,
        next_run_at = excluded.next_run_at, revision = old.revision + 1, withdrawn = null,
        declared = coalesce(p_declared, old.declared),
        edited_at = case when p_declared is null then v_now else old.edited_at end
    returning old.id into v_id;
    return v_id;
end
$$;

-- Merges the given settings of a schedule into the stored ones. A new handler comes with its own role, and
-- an interval replaces a cron expression and vice versa. A null is ignored, except that it removes a key.
-- returns: the whole document
create or replace function rolecall.amended_schedule(p_standing jsonb, p_said jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select (p_standing - array_remove(array[
            case when p_said -> 'key' = 'null' then 'key' end,
            case when item.document ->> 'handler' <> p_standing ->> 'handler' then 'role' end,
            case when item.document ? 'every' then 'cron' end,
            case when item.document ? 'cron' then 'every' end
        ], null)) || item.document
    from (select rolecall.without_nulls(p_said) as document) as item
$$;

-- Validates a schedule: its name, role, interval or expression, policies, and task. Cron expressions and
-- time zones are validated by the code that computes the fire times.
-- raises: RC021 invalid schedule, RC031 unknown role, RC040 invalid task
create or replace function rolecall.check_schedule(p_schedule jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text := p_schedule ->> 'name';
    v_every float8 := (p_schedule ->> 'every')::float8;
    v_jitter float8 := coalesce((p_schedule ->> 'jitter')::float8, 0);
    v_misfire text := coalesce(p_schedule ->> 'misfire', 'one');
    v_overlap text := coalesce(p_schedule ->> 'overlap', 'queue');
    v_problem text;
begin
    if coalesce(length(v_name), 0) not between 1 and 100 then
        perform rolecall.refuse('RC021', 'a schedule has a name of 1 to 100 characters');
    end if;
    v_problem := case
        when num_nonnulls(p_schedule ->> 'every', p_schedule ->> 'cron') = 0 then
            'it needs an interval (every) or a cron expression (cron)'
        when num_nonnulls(p_schedule ->> 'every', p_schedule ->> 'cron') = 2 then
            'it has either an interval (every) or a cron expression (cron), not both'
        when v_every not between 1 and 315360000 then 'every is 1 to 315360000 seconds'
        when length(p_schedule ->> 'cron') > 200 then 'a cron expression has at most 200 characters'
        when not isfinite(
            (p_schedule ->> 'first_run_at')::timestamptz
        ) then 'first_run_at is a moment, not infinity'
        when v_misfire not in ('skip', 'one', 'all') then format(
            'misfire is skip, one or all, not %L', v_misfire
        )
        when v_overlap not in ('skip', 'queue', 'cancel') then format(
            'overlap is skip, queue or cancel, not %L', v_overlap
        )
        when v_misfire = 'all' and v_overlap <> 'queue' then
            format(
                'misfire all needs overlap queue: with %s only one of the missed runs would stay', v_overlap
            )
        when v_jitter not between 0 and 86400 then 'jitter is 0 to 86400 seconds'
        when v_jitter > v_every then 'jitter is no longer than the interval'
    end;
    if v_problem is not null then
        perform rolecall.refuse('RC021', format('schedule %s: %s', v_name, v_problem));
    end if;
    -- A schedule is invalid if its task would be rejected.
    perform rolecall.drafts_of(jsonb_build_array(
        jsonb_build_object('payload', '{}'::jsonb) || (
            select coalesce(jsonb_object_agg(item.key, item.value), '{}')
            from jsonb_each(p_schedule) as item
            where item.key in ('role', 'handler', 'payload', 'priority', 'key')
        )
    ), rolecall.clock());
end
$$;

-- Rejects a change of a schedule that is immutable or is not in the state that the caller expects.
-- raises: RC022 it exists already but should be new (revision 0), or it is immutable; RC023 it was changed
-- in the meantime
create or replace function rolecall.guard_schedule(
    p_standing rolecall.schedules, p_amended jsonb, p_declared jsonb
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_revision int := (p_amended ->> 'revision')::int;
    v_editable constant text[] := '{name,every,cron,zone,priority,revision}';
begin
    if p_standing.id is null then
        if v_revision > 0 then
            perform rolecall.refuse('RC023', format('schedule %s is gone', p_amended ->> 'name'));
        end if;
    elsif v_revision = 0 then
        perform rolecall.refuse('RC022', format('there is already a schedule %L', p_standing.name));
    elsif v_revision <> p_standing.revision then
        perform rolecall.refuse('RC023', format(
            'schedule %s was changed meanwhile: it has revision %s, not %s', p_standing.name,
            p_standing.revision, v_revision
        ));
    elsif p_standing.immutable and p_declared is null
        and p_amended - v_editable <> rolecall.schedule_document(p_standing) - v_editable
    then
        perform rolecall.refuse('RC022', format(
            'schedule %s is immutable: only its rhythm and its priority can be changed', p_standing.name
        ));
    end if;
end
$$;

-- Returns the next time of a schedule after a change: the current one, unless the change moves it. For a
-- cron expression, the next tick searches for fire times from there.
-- returns: the next time to look at the schedule; for an interval, its next fire time
create or replace function rolecall.next_plan(
    p_standing rolecall.schedules, p_amended jsonb, p_now timestamptz
)
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_amended ->> 'first_run_at' is not null then (p_amended ->> 'first_run_at')::timestamptz
        when p_standing.id is null then p_now
        when p_amended ? 'cron' and (moved.rhythm or moved.wakes) then
            greatest(p_now, p_standing.last_run_at + interval '1 us')
        when moved.rhythm then greatest(p_now, coalesce(p_standing.last_run_at, p_now) + given.every)
        when moved.wakes and p_standing.next_run_at < p_now then
            p_standing.next_run_at + ceil(
                extract(epoch from p_now - p_standing.next_run_at) / extract(epoch from given.every)
            ) * given.every
        else p_standing.next_run_at
    end
    from (select make_interval(secs => (p_amended ->> 'every')::float8) as every) as given
    cross join lateral (select
        (given.every, p_amended ->> 'cron') is distinct from (p_standing.every, p_standing.cron)
            or p_standing.cron is not null
            and coalesce(p_amended ->> 'zone', 'UTC') is distinct from p_standing.zone as rhythm,
        not p_standing.enabled and (p_amended ->> 'enabled')::boolean as wakes
    ) as moved
$$;

-- Returns a stored schedule as the document that would store it.
-- returns: the document, without nulls
create or replace function rolecall.schedule_document(p_schedule rolecall.schedules)
returns jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.without_nulls(jsonb_build_object(
        'name', p_schedule.name, 'role', p_schedule.role, 'handler', p_schedule.handler, 'payload',
        p_schedule.payload, 'priority', p_schedule.priority, 'key', p_schedule.key, 'every',
        extract(epoch from p_schedule.every), 'cron', p_schedule.cron, 'zone', p_schedule.zone, 'misfire',
        p_schedule.misfire, 'overlap', p_schedule.overlap,
        'jitter', extract(epoch from p_schedule.jitter), 'enabled', p_schedule.enabled, 'immutable',
        p_schedule.immutable
    ))
$$;

-- Removes the null members of an object, but not those of nested objects.
-- returns: the object
create or replace function rolecall.without_nulls(p_object jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_object_agg(member.key, member.value), '{}')
    from jsonb_each(p_object) as member
    where member.value <> 'null'
$$;
