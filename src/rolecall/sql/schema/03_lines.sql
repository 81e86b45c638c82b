-- A line is one role, handler and priority; its tasks stand in order of scheduled_for and id. Lines are never
-- deleted, and two equal ones may exist: enqueuing a line's first task must not wait for another transaction
-- that does the same. Beside the line that anybody claims from there are others for tasks that may be claimed
-- into a free slot only, and for those that do not fit some signatures of their handler: who may not take
-- them passes them by at no cost.
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
-- What somebody who serves a few handlers of all roles looks for.
create index lines_by_handler on rolecall.lines (handler);

-- A key's row carries its lock, and how many of its tasks may run at once where that was said of this very
-- key: as an app declares it, or as somebody has set it since. Who holds the key stands in tasks.key_slot.
create table rolecall.keys (
    key text collate "C" primary key,
    capacity smallint,
    declared smallint,
    constraint capacities_are_positive check (least(declared, capacity) > 0)
);
create index keys_with_a_capacity on rolecall.keys (key) where declared is not null or capacity is not null;

-- The same of all keys that begin alike.
create table rolecall.key_patterns (
    prefix text collate "C" primary key,
    declared smallint,
    capacity smallint,
    constraint capacities_are_positive check (least(declared, capacity) > 0),
    constraint somebody_says_a_capacity check (num_nonnulls(declared, capacity) > 0)
);

-- How far bringing back what is parked though its key has room has come: one row, which whoever goes on with
-- it holds until the commit, so that one process at a time does. `place` is the last key that was looked at,
-- `next_at` says when to go on.
create table rolecall.unpark_pass (
    only_row boolean primary key default true,
    place text collate "C" not null default '',
    next_at timestamptz not null default '-infinity',
    constraint there_is_only_one_row check (only_row)
);
insert into rolecall.unpark_pass default values;
