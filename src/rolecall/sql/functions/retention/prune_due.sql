-- Forgets a batch of a kind that is due, of those that no other session is at; call it again until it finds
-- none.
-- returns: one row: the kind, and how many; none when nothing is due
-- locks: the kind's retention row, skipping locked ones; rows; for a dropped day, its partitioned table
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
    -- Any of them: if one could not be pruned for an error, it must not keep all others from their turn.
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
