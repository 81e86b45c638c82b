-- Finds the longest pattern that fits a key, and how many of its tasks that lets run at once. None fits the
-- key by which a role has one root, 'role:' and its name: whoever gives all keys more room does not mean
-- that.
-- returns: one row, or none
-- search_path: not set, so that it becomes a part of the query that asks for many keys
create or replace function rolecall.pattern_of_key(p_key text)
returns table (prefix text, capacity smallint)
language sql
stable
as $$
    select pattern.prefix, coalesce(pattern.capacity, pattern.declared)
    from rolecall.key_patterns as pattern
    where pg_catalog.starts_with(p_key, pattern.prefix)
        and not (pg_catalog.starts_with(p_key, 'role:') and exists (
        select from rolecall.roles as role where role.name = pg_catalog.substr(p_key, 6) and role.one_root
    ))
    order by pg_catalog.length(pattern.prefix) desc
    limit 1
$$;
