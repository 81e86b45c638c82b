-- Forgets what nobody needs, a batch a kind: whole days of finished tasks and events past every role's
-- retention, single finished tasks past their role's, keys that nobody wants, tokens that open nothing,
-- owners of tasks that are gone, old bins of the history, schedules' old runs, rows of the audit log past
-- their retention, answers older than a day, workers that are long gone, API keys and sessions that let
-- nobody in. What belongs to a chain or a tree that is open, or that something open needs, stays, however old
-- it is. What another session is at is left to it.
-- returns: one row a kind, with the number
-- locks: the retention rows, skipping locked ones; rows; then the partitioned tables, for each dropped
-- partition
-- public: yes
create or replace function rolecall.prune()
returns table (what text, number bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Bounds one call's work and WAL; the next call goes on.
    v_bound constant int := 5000;
    v_now timestamptz := rolecall.clock();
    v_row rolecall.retention;
    v_batch record;
begin
    -- Days last, as the lock that dropping one takes lasts until the commit, and nobody can finish a task
    -- meanwhile.
    for what in select kind from rolecall.retention order by kind like '%\_partitions', kind loop
        number := 0;
        loop
            select * into v_row from rolecall.retention where kind = what for update skip locked;
            exit when not found;
            select * into v_batch from rolecall.prune_batch(v_row, v_now, v_bound);
            number := number + v_batch.number;
            exit when not v_batch.more or (number > 0 and what not like '%\_partitions');
        end loop;
        return next;
    end loop;
end
$$;
