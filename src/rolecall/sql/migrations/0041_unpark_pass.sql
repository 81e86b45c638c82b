-- breaking: no
-- How far bringing back what is parked though its key has room has come: one row, which whoever goes on with it holds until the commit,
-- so that one process at a time does. `place` is the last key that was looked at, `next_at` says when to go on.
create table rolecall.unpark_pass (
    only_row boolean primary key default true,
    place text collate "C" not null default '',
    next_at timestamptz not null default '-infinity',
    constraint there_is_only_one_row check (only_row)
);
insert into rolecall.unpark_pass default values;
