-- Says what is wrong with how a new task's dedupe_key is to be treated.
-- returns: a sentence, or null when nothing is
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.dedupe_problem(p_dedupe jsonb, p_dedupe_key text)
returns text
language sql
stable
set search_path = ''
as $$
    select case
        when p_dedupe_key is null then 'dedupe says how to treat a dedupe_key, but there is none'
        when jsonb_typeof(p_dedupe) <> 'object' then format('dedupe is not an object but %s', jsonb_typeof(p_dedupe))
        when p_dedupe - array['mode', 'scope', 'window', 'merge', 'except_chain'] <> '{}'
            then format('dedupe has mode, scope, window, merge and except_chain, but no %s', (
                select string_agg(key, ', ') from jsonb_object_keys(p_dedupe - array['mode', 'scope', 'window', 'merge', 'except_chain']) as key
            ))
        when p_dedupe ->> 'mode' not in ('keep', 'replace', 'merge', 'error')
            then format('the dedupe mode is %L; it is keep, replace, merge or error', p_dedupe ->> 'mode')
        when p_dedupe ->> 'scope' not in ('pending', 'open', 'any')
            then format('the dedupe scope is %L; it is pending, open or any', p_dedupe ->> 'scope')
        when p_dedupe ->> 'mode' in ('replace', 'merge') and p_dedupe ->> 'scope' <> 'pending'
            then format('%s changes only what nobody has claimed: its scope is pending', p_dedupe ->> 'mode')
        when (coalesce(p_dedupe ->> 'scope', '') = 'any') <> (nullif(p_dedupe -> 'window', 'null') is not null)
            then 'the scope any needs a window, in seconds, and no other scope has one'
        when jsonb_typeof(p_dedupe -> 'window') not in ('number', 'null') or (p_dedupe ->> 'window')::float8 not between 0.001 and 4e9
            then format('the dedupe window is %s s, allowed are 0.001 to 4e9', p_dedupe ->> 'window')
        when p_dedupe ->> 'except_chain' !~ '^[0-9]{1,18}$'
            then format('except_chain is %L, not the id of a chain', p_dedupe ->> 'except_chain')
        when p_dedupe ->> 'merge' is not null and coalesce(p_dedupe ->> 'mode', '') <> 'merge'
            then 'only the mode merge has a rule to merge by'
        when p_dedupe ->> 'merge' is not null then rolecall.merge_problem(p_dedupe -> 'merge')
    end
$$;
