-- When each duty of the pool comes next, and how its last runs went: one row a duty, made by its first
-- run. Whoever does it holds the row until the commit of the first batch, so that one process at a time
-- begins; `done_by` says who that was. `succeeded_at` is the end of the last run that succeeded,
-- `unfinished_since` the begin of the first run after it, and `error` why the latest run failed. The times
-- are the server's own, whatever a test makes of the clock.
create table rolecall.duties (
    name text collate "C" primary key,
    every interval not null,
    next_at timestamptz not null,
    done_by text not null,
    succeeded_at timestamptz,
    unfinished_since timestamptz,
    error text,
    constraint only_an_unfinished_duty_has_an_error check (error is null or unfinished_since is not null)
) with (fillfactor = 50);
