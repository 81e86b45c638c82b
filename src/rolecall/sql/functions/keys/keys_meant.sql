-- Finds the keys whose room changes with the capacity of patterns: a plain key itself; of what a pattern fits
-- those that something holds, as nothing else keeps tasks parked.
-- returns: those keys
create or replace function rolecall.keys_meant(p_patterns text[])
returns text[]
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select array(
        select pattern from unnest(p_patterns) as pattern where rolecall.key_prefix(pattern) is null
        union
        select holder.key from rolecall.tasks as holder
        where holder.key_slot is not null and exists (
            select
            from unnest(p_patterns) as pattern
            where starts_with(holder.key, rolecall.key_prefix(pattern))
        )
    )
$$;
