-- Counts the tasks that the active workers of each pod are running.
-- returns: one row per pod whose name starts with the prefix: its workers' ids, and how many tasks they run
-- public: yes
create or replace function rolecall.pods_at_work(p_prefix text)
returns table (pod text, worker_ids bigint[], running bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select worker.pod, array_agg(worker.id order by worker.id), sum(cardinality(worker.running_tasks))
    from rolecall.all_workers as worker
    where worker.active and starts_with(worker.pod, p_prefix)
    group by worker.pod
    order by worker.pod
$$;
