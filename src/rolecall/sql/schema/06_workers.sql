-- The roll: one row a worker process, under an id that is never used again.
create table rolecall.workers (
    id bigint generated always as identity primary key,
    name text not null,
    roles text[] not null,
    handlers text[] not null,
    slots int not null,
    held int not null default 0,
    idle boolean not null default false,
    started_at timestamptz not null,
    heartbeat_at timestamptz not null,
    stopped_at timestamptz,
    host text,
    pid int,
    version text,
    constraint slots_are_positive check (slots > 0),
    constraint a_stopped_worker_is_not_idle check (stopped_at is null or not idle)
) with (fillfactor = 50);

-- Which server answered last, and since when: after a restart or a failover nothing is rescued for one lease.
create table rolecall.server_epoch (
    only_row boolean primary key default true,
    postmaster_started_at timestamptz not null,
    timeline text not null,
    seen_at timestamptz not null,
    constraint there_is_only_one_row check (only_row)
);
