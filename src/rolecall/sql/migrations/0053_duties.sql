-- breaking: no
-- When each duty of the pool comes next, so that one process at a time does it, however many there are.
create table rolecall.duties (
    name text collate "C" primary key,
    every interval not null,
    next_at timestamptz not null,
    done_by text not null
) with (fillfactor = 50);
