-- The worker registry: one row per worker process, with an id that is never reused. Each heartbeat reports
-- cpu and memory (fractions of what the worker may use), how far its clock is ahead (seconds), why it takes
-- no new tasks for now, and the command that it has received. intakes are the signature digests that its
-- handlers accept. For proofs of death: the pid, the space in which it is valid (one boot of a machine, one
-- pid namespace), the start of the process, the suffix of its sessions' application_name, and since when no
-- such session has been seen. `login` registered the worker, and no other login may report for it.
-- A dead worker has ended without deregistering, and another process has removed it.
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
    is_dead boolean not null default false,
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
    constraint command_is_known check (command in ('drain', 'decommission')),
    constraint a_command_has_a_time check ((command is null) = (commanded_at is null))
) with (fillfactor = 50);

-- Workers that wait for tasks, by the roles that they claim from ('' for all). An enqueue notifies some of
-- them. A mark expires unless the worker renews it. An enqueue looks among the newest marks, regardless of
-- older ones that an old snapshot retains.
create table rolecall.idle_marks (
    role text collate "C" not null,
    worker_id bigint not null,
    handlers text[] not null,
    until timestamptz not null
);
create index idle_marks_by_role on rolecall.idle_marks (role, until);
create index idle_marks_by_worker on rolecall.idle_marks (worker_id, until);
alter table rolecall.idle_marks replica identity full;

-- The server that was seen last, since when, and how often its clock was set while it ran. After a restart, a
-- failover or a step of the clock, nothing is rescued for one lease.
create table rolecall.server_epoch (
    only_row boolean primary key default true,
    postmaster_started_at timestamptz not null,
    seen_at timestamptz not null,
    clock_steps int not null default 0,
    constraint has_only_one_row check (only_row)
);
