-- Lists the keys and key patterns with a declared or set capacity, in their order.
-- returns: one row each: the effective capacity, the one that an app declares, and the one that an operator
-- has set
-- public: yes
create or replace function rolecall.key_capacities(p_after text default '', p_limit int default 100)
returns table (pattern text, capacity int, declared int, set_to int)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select known.pattern, coalesce(known.capacity, known.declared)::int, known.declared::int,
        known.capacity::int
    from (
        select lock.key as pattern, lock.capacity, lock.declared
        from rolecall.keys as lock
        where (lock.declared is not null or lock.capacity is not null) and lock.key > p_after
        union all
        select pattern.prefix || '*', pattern.capacity, pattern.declared
        from rolecall.key_patterns as pattern
        where pattern.prefix || '*' > p_after
    ) as known
    order by known.pattern collate "C"
    limit p_limit
$$;
