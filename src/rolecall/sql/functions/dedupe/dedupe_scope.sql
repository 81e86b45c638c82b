-- Says which tasks stand for a new one with the same dedupe_key: open ones, only those that nobody has
-- claimed, or any of late.
-- returns: open, pending or any
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.dedupe_scope(p_dedupe jsonb)
returns text
language sql
immutable
as $$
    select coalesce(
        p_dedupe ->> 'scope', case
            when p_dedupe ->> 'mode' in ('replace', 'merge') then 'pending'
            else 'open'
        end
    )
$$;
