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
