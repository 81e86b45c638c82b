-- Commands a worker to take no more tasks (drain), to do so and exit after its last task (decommission), or
-- to continue (null). The worker receives the command with a notification, or at the latest with its next
-- heartbeat.
-- raises: RC030 unknown worker
-- locks: the workers row
-- notifies: rolecall_command with the worker's id
-- public: yes
create or replace function rolecall.command_worker(p_worker_id bigint, p_command text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
    update rolecall.workers
    set command = p_command,
        commanded_at = case
            when p_command = command then commanded_at
            when p_command is not null then rolecall.clock()
        end
    where id = p_worker_id and stopped_at is null;
    if not found then
        perform rolecall.refuse('RC030', format('no worker %s is on the roll', p_worker_id));
    end if;
    perform rolecall.notify('rolecall_command', p_worker_id::text);
end
$$;

-- Notifies workers to check their held tasks at once, because they have lost some of them.
-- notifies: rolecall_cancel with each worker's id
create or replace function rolecall.tell_workers(p_worker_ids bigint[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.notify('rolecall_cancel', worker.id::text)
    from (select distinct id from unnest(p_worker_ids) as given (id) where id is not null) as worker
$$;

-- Records the signature digests that a worker's handlers accept, before its first claim: tasks that were
-- incompatible with one of them are not given to it. The record survives a crash of the server.
-- locks: the workers row
-- public: yes
create or replace function rolecall.tell_intakes(p_worker_id bigint, p_intakes text[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    select rolecall.require_own_worker(p_worker_id);
    update rolecall.workers set intakes = p_intakes where id = p_worker_id
$$;
