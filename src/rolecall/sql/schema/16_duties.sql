-- When each duty of the pool comes next: one row a duty, made when it is done for the first time. Who does it
-- holds the row until the commit of his first batch, so that one process at a time begins; `done_by` says who
-- that was. The times are the server's own, whatever a test makes of the clock.
create table rolecall.duties (
    name text collate "C" primary key,
    every interval not null,
    next_at timestamptz not null,
    done_by text not null
) with (fillfactor = 50);
