-- Says what proves that a worker is dead: the process that it is, by where its pid means something (one boot
-- of a machine, one pid namespace) and when that process began, and how the application_name of its sessions
-- ends. Null is unknown, and proves nothing; so does a name that is not this very session's.
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

-- Lists the workers that may hold tasks and whose process can be looked at from one place.
-- returns: one row a worker
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

-- Finds the workers that have no session in this database now and had none p_apart ago. That is no proof of a
-- death: a worker whose connections are refused has none either, so only rescue_harmless may follow. A worker
-- that has beaten since, and one that a restart of the server may keep away for a lease, is not among them;
-- nor is one that is off the roll and holds nothing harmless. Every login sees the names of all sessions, so
-- the answer is the same for everybody.
-- returns: one row a worker
-- raises: RC050 wrong isolation level
-- locks: workers rows, skipping locked ones; the server_epoch row, when the server is another
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

-- Lists how the names of the sessions of workers end that stand in this database. Every login sees them all.
-- returns: marks of workers, and ids of those whose session runs a procedure or completes a task
create or replace function rolecall.standing_sessions()
returns setof text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    -- A session that runs a procedure or completes a task has the name of that task meanwhile.
    select case when part[4] in ('task', 'finish') then part[3] else part[4] end
    from pg_catalog.pg_stat_activity as session
    cross join string_to_array(session.application_name, ':') as part
    where session.datname = current_database()
        and session.application_name like 'rolecall:worker:%:%'
$$;

-- Finds, of workers that are silent elsewhere, those that have no session in this database, and those that
-- have left the roll. A worker that is cut off from everything looks the same, so only rescue_harmless may
-- follow.
-- returns: one row a worker
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

-- Lists the workers that may hold tasks: those on the roll, and those that have left it within the hour and
-- not given back all that they held.
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

-- Says how long the longest lease is of what a worker holds.
-- returns: an interval, a minute at least
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
