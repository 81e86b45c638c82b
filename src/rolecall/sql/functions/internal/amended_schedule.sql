-- Puts what is said of a schedule over what stands. Another handler comes with its own role, an interval stands in for a cron
-- expression and the other way round; a null says nothing, but takes a key away.
-- returns: the whole document
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.amended_schedule(p_standing jsonb, p_said jsonb)
returns jsonb
language sql
immutable
set search_path = ''
as $$
    select (p_standing - array_remove(array[
            case when p_said -> 'key' = 'null' then 'key' end,
            case when said.document ->> 'handler' <> p_standing ->> 'handler' then 'role' end,
            case when said.document ? 'every' then 'cron' end,
            case when said.document ? 'cron' then 'every' end
        ], null)) || said.document
    from (select rolecall.without_nulls(p_said) as document) as said
$$;
