-- A line is one role, handler and priority; its tasks stand in order of scheduled_for and id. Lines are never deleted, and
-- two equal ones may exist: enqueuing a line's first task must not wait for another transaction that does the same.
create table rolecall.lines (
    id int generated always as identity primary key,
    role text collate "C" not null,
    handler text collate "C" not null,
    priority smallint not null,
    constraint priority_is_between_minus_100_and_100 check (priority between -100 and 100)
);
create index lines_by_name on rolecall.lines (role, handler, priority);

-- A key's row carries its lock and how many of its tasks may run at once; who holds it stands in tasks.key_slot.
create table rolecall.keys (
    key text collate "C" primary key,
    capacity smallint not null default 1,
    constraint capacity_is_positive check (capacity > 0)
);
