-- Says how many tasks of a key may run at once: what was set for the key itself, else for the longest pattern that fits it, else one.
-- returns: one row
-- raises: nothing
-- locks: nothing
-- search_path: not set, so that it becomes a part of the query that asks for many keys
-- notifies: nothing
create or replace function rolecall.capacity_of(p_key text, p_own smallint)
returns table (capacity int)
language sql
stable
as $$
    select coalesce(
        p_own,
        -- Most pools have no patterns: that is asked once a query, not once a key.
        case when exists (select from rolecall.key_patterns) then (
            select pattern.capacity from rolecall.pattern_of_key(p_key) as pattern
        ) end,
        1
    )::int
$$;
