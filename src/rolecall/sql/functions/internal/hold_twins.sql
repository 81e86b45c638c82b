-- Locks the unclaimed tasks that drafts are to change, all before the first is changed.
-- returns: nothing
-- raises: nothing
-- locks: what `hold_tasks` locks, in its order
-- notifies: nothing
create or replace function rolecall.hold_twins(p_tasks jsonb, p_positions bigint[], p_places rolecall.place[])
returns void
language sql
volatile
set search_path = ''
as $$
    select rolecall.hold_tasks(array(
        select rolecall.find_twin(rolecall.full_dedupe_key(item.draft), item.draft -> 'dedupe', p_places[item.n])
        from (select n, p_tasks -> (n - 1)::int as draft from unnest(p_positions) as n) as item
        where item.draft -> 'dedupe' ->> 'mode' in ('replace', 'merge')
    ))
$$;
