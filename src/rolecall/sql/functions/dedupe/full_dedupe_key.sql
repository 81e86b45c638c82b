-- Says under which key a draft's dedupe_key is stored: each handler has dedupe keys of its own.
-- returns: the key; null where the draft has none
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.full_dedupe_key(p_draft jsonb)
returns text
language sql
immutable
as $$
    select coalesce(p_draft ->> 'handler', p_draft ->> 'role') || '/' || (p_draft ->> 'dedupe_key')
$$;
