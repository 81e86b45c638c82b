-- Forgets keys that nobody wants, of the next p_limit in order. One of which a capacity was said is a setting, and stays.
-- returns: one row: how many; the last key that was looked at, null at the end
-- raises: nothing
-- locks: the keys rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.prune_keys(p_after text, p_limit int)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_looked_at text[];
    v_idle text[];
begin
    v_looked_at := array(select known.key from rolecall.keys as known where known.key > coalesce(p_after, '') order by known.key limit p_limit);
    v_idle := array(
        select known.key from rolecall.keys as known
        where known.key = any(v_looked_at) and num_nonnulls(known.capacity, known.declared) = 0
            and not exists (select from rolecall.tasks as task where task.key = known.key and task.key_slot is not null)
            and not exists (select from rolecall.tasks as task where task.key = known.key and task.state = 'pending')
        order by known.key
        for update of known skip locked
    );
    -- Another statement, which sees who took one of them since the first looked, and gave its row free before that had locked it.
    delete from rolecall.keys as known
    where known.key = any(v_idle)
        and not exists (select from rolecall.tasks as task where task.key = known.key and task.key_slot is not null)
        and not exists (select from rolecall.tasks as task where task.key = known.key and task.state = 'pending');
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then v_looked_at[p_limit] end;
    return next;
end
$$;
