-- The state of maintenance duties: when each is due next, and how its last runs went. The first run creates
-- the row. The process that runs a duty holds its row until the commit of the first batch, so that only one
-- begins; `done_by` names it. `succeeded_at` is the end of the last successful run, `unfinished_since` the
-- start of the first run after it, and `error` the error of the latest run. The times are the server's own,
-- even if a test changes the clock.
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
