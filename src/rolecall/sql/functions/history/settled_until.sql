-- Says until when nothing can finish any more: each task that is seen as finished later, finished after it.
--
-- A task's `finished_at` is read from the clock by the statement that ends it, and others see it only when
-- the transaction commits, maybe hours later. So those that may still commit bound the answer; of whom it is
-- not known when he began is given a moment to end. Who begins after the clock was read here will finish
-- later than that, and each leaves the list only after all can see what he has committed. So: first the
-- clock, then the list, and what is counted last of all. The clock may go back a little, and a session may be
-- held up before its first lock, so a margin is kept from all of this.
-- returns: the moment; -infinity where nothing is sure
create or replace function rolecall.settled_until(p_margin interval)
returns timestamptz
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_until timestamptz := least(rolecall.clock(), clock_timestamp());
    v_oldest timestamptz;
    v_unknown text[];
begin
    select min(case when late.prepared then '-infinity' else late.began end),
        coalesce(array_agg(late.virtual_id) filter (where late.began is null and not late.prepared), '{}')
    into v_oldest, v_unknown
    from rolecall.late_committers() as late;
    for v_look in 1..10 loop
        exit when cardinality(v_unknown) = 0;
        perform pg_sleep(0.02);
        v_unknown := array(
            select lock.virtualtransaction from pg_catalog.pg_locks as lock
            where lock.locktype = 'virtualxid' and lock.virtualtransaction = any(v_unknown)
        );
    end loop;
    return case when cardinality(v_unknown) > 0 then '-infinity' else least(v_until, v_oldest) - p_margin end;
end
$$;
