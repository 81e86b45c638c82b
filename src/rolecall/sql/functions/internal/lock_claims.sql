-- Locks the tasks of some reports before outcomes of several kinds take them kind by kind.
-- returns: the keys of those that the worker still owns
-- raises: nothing
-- locks: tasks rows in id order
-- notifies: nothing
create or replace function rolecall.lock_claims(p_worker_id bigint, p_reports jsonb)
returns text[]
language sql
volatile
set search_path = ''
set enable_seqscan = off
as $$
    with owned as materialized (
        select task.key
        from (select * from jsonb_to_recordset(p_reports) as given (id bigint, fence int) order by given.id) as report
        cross join lateral (
            select owned.key
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
    )
    select array_agg(distinct key) filter (where key is not null) from owned
$$;
