-- Prunes a batch of one kind that is due and that no other session is pruning. Call it until it returns no
-- row.
-- returns: one row: the kind, and how many; none if nothing is due
-- locks: the kind's retention row, skipping locked rows; rows; for a dropped day, its partitioned table
-- public: yes
create or replace function rolecall.prune_due(p_limit int default 2000)
returns table (what text, number bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_row rolecall.retention;
begin
    -- In random order: a kind that cannot be pruned because of an error must not block the others.
    select *
    into v_row
    from rolecall.retention
    where next_at <= v_now
    order by random() limit 1
    for update skip locked;
    if not found then
        return;
    end if;
    what := v_row.kind;
    select batch.number into number from rolecall.prune_batch(v_row, v_now, p_limit) as batch;
    return next;
end
$$;
