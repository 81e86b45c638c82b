-- Records what can prove a worker's death: its process, as a pid together with the space where that is
-- valid (one boot of a machine, one pid namespace) and the start of the process; and the suffix of the
-- application_name of its sessions. Null is unknown and proves nothing; neither does a suffix that this
-- session's name does not have.
-- locks: the workers row
-- public: yes
create or replace function rolecall.tell_process(
    p_worker_id bigint, p_pid_space text, p_pid_started bigint, p_sessions text
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    select rolecall.require_own_worker(p_worker_id);
    update rolecall.workers
    set pid_space = p_pid_space, pid_started = p_pid_started,
        sessions = case
            when split_part(current_setting('application_name'), ':', 4) = nullif(p_sessions, '')
                then p_sessions
        end
    where id = p_worker_id
$$;

-- Lists the workers that may hold tasks and whose processes can be checked from one place.
-- returns: one row per worker
-- public: yes
create or replace function rolecall.workers_beside(p_host text, p_pid_space text)
returns table (worker_id bigint, pid int, pid_started bigint)
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select worker.id, worker.pid, worker.pid_started
    from rolecall.possible_owners() as worker
    where worker.host = p_host and worker.pid_space = p_pid_space and worker.pid_started is not null
    order by worker.id
$$;

-- Finds the workers that have no session in this database now and had none p_apart ago. This is no proof of
-- death: a worker whose connections are refused has none either, so only rescue_harmless may follow.
-- Excludes workers with a heartbeat since then, workers that a restart of the server may keep away for a
-- lease, and deregistered workers that hold nothing harmless. Every login sees the names of all sessions,
-- so the result does not depend on the caller.
-- returns: one row per worker
-- raises: RC050 wrong isolation level
-- locks: workers rows, skipping locked rows; the server_epoch row, if the server has changed
-- public: yes
create or replace function rolecall.unseen_workers(p_apart interval default '10 s')
returns table (worker_id bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_up_since timestamptz := rolecall.server_up_since();
    v_look record;
begin
    perform rolecall.require_read_committed();
    for v_look in
        with standing as materialized (
            select name from rolecall.standing_sessions() as name
        )
        select worker.id, worker.stopped_at, worker.unseen_since as before, case
            when worker.sessions in (select name from standing)
                or worker.id::text in (select name from standing)
                then null
            when worker.unseen_since > greatest(
                worker.heartbeat_at, v_up_since + rolecall.longest_lease(worker.id)
            ) then worker.unseen_since
            else v_now
        end as since
        from rolecall.possible_owners() as worker
        where worker.sessions is not null
        order by worker.id
    loop
        if v_look.since is distinct from v_look.before then
            update rolecall.workers as worker
            set unseen_since = v_look.since
            where worker.id = (
                select one.id from rolecall.workers as one
                where one.id = v_look.id
                for no key update skip locked
            );
        elsif v_look.since <= v_now - p_apart
            and (
                v_look.stopped_at is null
                or exists (select from rolecall.harmless_claims(array[v_look.id]))
            ) then
            worker_id := v_look.id;
            return next;
        end if;
    end loop;
end
$$;

-- Lists the workers' suffixes of the session names in this database. Every login sees them all.
-- returns: suffixes of workers, and ids of those whose session runs a procedure or completes a task
create or replace function rolecall.standing_sessions()
returns setof text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    -- While a session runs a procedure or completes a task, its name contains that task.
    select case when part[4] in ('task', 'finish') then part[3] else part[4] end
    from pg_catalog.pg_stat_activity as session
    cross join string_to_array(session.application_name, ':') as part
    where session.datname = current_database()
        and session.application_name like 'rolecall:worker:%:%'
$$;

-- Finds, among workers that are silent elsewhere, those without a session in this database and those that
-- have deregistered. A worker that is cut off from everything looks the same, so only rescue_harmless may
-- follow.
-- returns: one row per worker
-- public: yes
create or replace function rolecall.sessionless(p_worker_ids bigint[])
returns table (worker_id bigint)
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    with standing as materialized (
        select name from rolecall.standing_sessions() as name
    )
    select given.id
    from unnest(p_worker_ids) as given (id)
    left join rolecall.workers as worker using (id)
    where worker.id is null or worker.stopped_at is not null
        or (worker.sessions is not null
            and worker.sessions not in (select name from standing)
            and worker.id::text not in (select name from standing))
    order by given.id
$$;

-- Lists the workers that may hold tasks: registered ones, and those that deregistered within the last hour
-- without returning all their tasks.
-- returns: their rows
create or replace function rolecall.possible_owners()
returns setof rolecall.workers
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_lately timestamptz := rolecall.clock() - interval '1 hour';
begin
    return query
    select worker.*
    from rolecall.workers as worker
    where worker.stopped_at is null or worker.stopped_at > v_lately and exists (
        select from rolecall.tasks as task where task.worker_id = worker.id and task.state = 'running'
    );
end
$$;

-- Returns the longest lease of a worker's held tasks.
-- returns: an interval of at least a minute
create or replace function rolecall.longest_lease(p_worker_id bigint)
returns interval
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select greatest('1 min', max(setting.lease))
    from rolecall.tasks as task
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    where task.worker_id = p_worker_id and task.state = 'running'
$$;
