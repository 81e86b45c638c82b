-- Lines: the tasks of one role, handler and priority, ordered by scheduled_for and id. Lines are never
-- deleted, and two equal ones may exist, because enqueuing a line's first task must not wait for another
-- transaction that does the same. Tasks that may only be claimed into a free slot, and tasks that are
-- incompatible with some signature digests, have separate lines, so that claims that cannot take them skip
-- them at no cost.
create table rolecall.lines (
    id int generated always as identity primary key,
    role text collate "C" not null,
    handler text collate "C" not null,
    priority smallint not null,
    never_ahead boolean not null default false,
    misfit_for text[] not null default '{}',
    constraint priority_is_between_minus_100_and_100 check (priority between -100 and 100)
);
create index lines_by_name on rolecall.lines (role, handler, priority);
-- For claims of a few handlers of all roles.
create index lines_by_handler on rolecall.lines (handler);

-- Keys: the lock of each key, and its own capacity if there is one, as an app declared it and as an
-- operator set it (0 pauses the key). The tasks that hold permits of the key are those with a key_slot.
create table rolecall.keys (
    key text collate "C" primary key,
    capacity smallint,
    declared smallint,
    constraint capacities_are_valid check (declared > 0 and capacity >= 0)
);
create index keys_with_a_capacity on rolecall.keys (key) where declared is not null or capacity is not null;

-- The capacities of all keys with a prefix.
create table rolecall.key_patterns (
    prefix text collate "C" primary key,
    declared smallint,
    capacity smallint,
    constraint capacities_are_positive check (least(declared, capacity) > 0),
    constraint has_a_capacity check (num_nonnulls(declared, capacity) > 0)
);

-- The progress of unpark: one row, which the running call locks until its commit, so that only one runs at
-- a time. `place` is the last key that was examined, `next_at` is when to continue.
create table rolecall.unpark_pass (
    only_row boolean primary key default true,
    place text collate "C" not null default '',
    next_at timestamptz not null default '-infinity',
    constraint has_only_one_row check (only_row)
);
insert into rolecall.unpark_pass default values;
