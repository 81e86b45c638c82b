-- Registers a worker process.
-- returns: its id, which is never reused and must be passed with every write
-- locks: the server_epoch row, if the server has changed
-- public: yes
create or replace function rolecall.register_worker(
    p_name text, p_roles text[], p_handlers text[], p_slots int, p_host text, p_pid int, p_version text,
    p_pod text default null, p_node text default null
)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    select rolecall.server_up_since();
    insert into rolecall.workers (
        name, roles, handlers, slots, host, pid, version, pod, node, started_at, heartbeat_at
    )
    select p_name, p_roles, p_handlers, p_slots, p_host, p_pid, p_version, p_pod, p_node, clock, clock
    from rolecall.clock() as clock
    returning id
$$;

-- Returns since when this server has been up, as far as workers have observed. Both a restart and a
-- failover reset it, because a standby that takes over has a different start time.
-- returns: the time of the first call on this server
-- locks: the server_epoch row, if the server has changed
create or replace function rolecall.server_up_since()
returns timestamptz
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_seen_at timestamptz;
begin
    select epoch.seen_at into v_seen_at
    from rolecall.server_epoch as epoch
    where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.seen_at <= rolecall.clock();
    if v_seen_at is null then
        insert into rolecall.server_epoch as epoch (postmaster_started_at, seen_at)
        values (pg_postmaster_start_time(), rolecall.clock())
        on conflict (only_row) do update
        set postmaster_started_at = excluded.postmaster_started_at, seen_at = excluded.seen_at
        returning epoch.seen_at into v_seen_at;
    end if;
    return v_seen_at;
end
$$;
