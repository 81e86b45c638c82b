-- The roll: one row a worker process, under an id that is never used again. With each beat it says what it
-- uses (cpu and memory as shares of what it may use), how far its own clock is ahead (seconds), why it takes
-- no new tasks for now, which command it has heard of, and once, as intakes, which payloads its handlers
-- take. What proves that it is dead stands here too: where its pid means something (one boot of a machine,
-- one pid namespace) and when that process began, and the last part of its sessions' application_name, with
-- the first look since which none of them stands. `login` has registered it: no other login may report for
-- it.
create table rolecall.workers (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text not null,
    roles text[] not null,
    handlers text[] not null,
    slots int not null,
    held int not null default 0,
    started_at timestamptz not null,
    heartbeat_at timestamptz not null,
    stopped_at timestamptz,
    host text,
    pid int,
    version text,
    pod text,
    node text,
    cpu float8,
    memory float8,
    memory_bytes bigint,
    clock_ahead float8,
    backing_off text,
    command text,
    commanded_at timestamptz,
    following text,
    intakes text[] not null default '{}',
    pid_space text,
    pid_started bigint,
    sessions text,
    unseen_since timestamptz,
    login text not null default session_user,
    app text,
    release text,
    constraint slots_are_positive check (slots > 0),
    constraint command_is_one_that_workers_know check (command in ('drain', 'decommission')),
    constraint a_command_has_a_time check ((command is null) = (commanded_at is null))
) with (fillfactor = 50);

-- Who waits for work, by the roles from which it claims ('' for all): an enqueue notifies some of these. A
-- mark counts until its time has passed, unless the worker renews it: what an enqueue looks for is among the
-- newest, whatever an old snapshot keeps of older ones.
create table rolecall.idle_marks (
    role text collate "C" not null,
    worker_id bigint not null,
    handlers text[] not null,
    until timestamptz not null
);
create index idle_marks_by_role on rolecall.idle_marks (role, until);
create index idle_marks_by_worker on rolecall.idle_marks (worker_id, until);
alter table rolecall.idle_marks replica identity full;

-- Which server answered last, and since when: after a restart or a failover nothing is rescued for one lease.
create table rolecall.server_epoch (
    only_row boolean primary key default true,
    postmaster_started_at timestamptz not null,
    seen_at timestamptz not null,
    constraint there_is_only_one_row check (only_row)
);
