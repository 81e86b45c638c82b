-- Pauses a role: running tasks continue, no others start, and prefetched tasks are returned. The pause ends
-- after p_seconds (null: when the role is resumed). If the role is already paused, the pause is changed but
-- keeps its start.
-- returns: one row: the start and end of the pause
-- raises: RC031 unknown role; RC041 a time that is not positive
-- locks: the roles row
-- notifies: rolecall_pause with the role
-- public: yes
create or replace function rolecall.pause_role(
    p_role text, p_seconds float8 default null, p_by text default null
)
returns table (paused_at timestamptz, paused_until timestamptz)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
begin
    if p_seconds <= 0 or p_seconds > 315576000 then
        perform rolecall.refuse('RC041', 'a pause must be longer than 0 s and at most ten years');
    end if;
    return query
    update rolecall.roles as role
    set paused_at = case when role.paused_until <= v_now then v_now else coalesce(role.paused_at, v_now) end,
        paused_until = v_now + make_interval(secs => p_seconds), paused_by = p_by
    where role.name = p_role
    returning role.paused_at, role.paused_until;
    if not found then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    perform rolecall.notify('rolecall_pause', p_role);
end
$$;

-- Ends a role's pause.
-- returns: whether it was paused
-- raises: RC031 unknown role
-- locks: the roles row
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.resume_role(p_role text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
    v_paused boolean;
begin
    select paused_at is not null into v_paused from rolecall.roles where name = p_role for update;
    if v_paused is null then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    update rolecall.roles set paused_at = null, paused_until = null,
    paused_by = null where name = p_role and v_paused;
    perform rolecall.wake(array[p_role]) where v_paused;
    return v_paused;
end
$$;

-- Ends expired pauses. Claims check the expiry themselves; this updates what operators see and wakes idle
-- workers.
-- returns: one row per resumed role: the start of the pause, and who paused it
-- locks: the roles rows, skipping locked rows
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.end_pauses()
returns table (role text, paused_at timestamptz, paused_for interval, paused_by text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    for role, paused_at, paused_for, paused_by in
        select ended.name, ended.paused_at, ended.paused_until - ended.paused_at, ended.paused_by
        from rolecall.roles as ended
        where ended.paused_until <= rolecall.clock()
        order by ended.name
        for update skip locked
    loop
        update rolecall.roles as ended set paused_at = null, paused_until = null,
        paused_by = null where ended.name = role;
        perform rolecall.wake(array[role]);
        return next;
    end loop;
end
$$;

-- Notifies all idle workers of roles, when it is unknown how many of them have work.
-- notifies: rolecall_wake with each role for which an idle worker waits
create or replace function rolecall.wake(p_roles text[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select rolecall.notify('rolecall_wake', role)
    from unnest(p_roles) as role
    where exists (
        select from unnest(array[role, '']) as served (role)
        join rolecall.idle_marks as mark using (role)
        where mark.until > rolecall.clock()
    )
$$;
