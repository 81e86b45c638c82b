-- breaking: no
-- Who waits for work, apart from the roll: what enqueues look for is neither among the dead versions that beats leave, nor, under
-- an old snapshot, among those of marks that have had their time.
create table rolecall.idle_marks (
    role text collate "C" not null,
    worker_id bigint not null,
    handlers text[] not null,
    until timestamptz not null
);
create index idle_marks_by_role on rolecall.idle_marks (role, until);
create index idle_marks_by_worker on rolecall.idle_marks (worker_id, until);
alter table rolecall.idle_marks replica identity full;
