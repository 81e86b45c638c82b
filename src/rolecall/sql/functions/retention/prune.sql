-- Prunes records past their retention, one batch of each kind: whole days of finished tasks and events past
-- the retention of every role, single finished tasks past that of their role, unused keys, expired tokens,
-- owners of deleted tasks, old bins of the history, error groups, logs, old schedule runs, audit entries,
-- responses older than a day, workers that left long ago, and unusable API keys and sessions. Tasks of an
-- open chain or tree, and tasks that an open one needs, are kept regardless of their age. Kinds that another
-- session is pruning are skipped.
-- returns: one row per kind, with the number
-- locks: the retention rows, skipping locked rows; rows; then the partitioned tables, for each dropped
-- partition
-- public: yes
create or replace function rolecall.prune()
returns table (what text, number bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Limits the work and WAL of a call; the next call continues.
    v_bound constant int := 5000;
    v_now timestamptz := rolecall.clock();
    v_row rolecall.retention;
    v_batch record;
begin
    -- Days last: the lock for dropping a partition lasts until the commit, and no task can finish
    -- meanwhile.
    for what in select kind from rolecall.retention order by kind like '%partitions', kind loop
        number := 0;
        loop
            select * into v_row from rolecall.retention where kind = what for update skip locked;
            exit when not found;
            select * into v_batch from rolecall.prune_batch(v_row, v_now, v_bound);
            number := number + v_batch.number;
            exit when not v_batch.more or (number > 0 and what not like '%partitions');
        end loop;
        return next;
    end loop;
end
$$;
