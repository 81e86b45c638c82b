-- Reads a pattern of keys: 'tenant:*' fits whatever begins with 'tenant:', and '*' every key.
-- returns: what such keys begin with; null for a plain key
create or replace function rolecall.key_prefix(p_pattern text)
returns text
language sql
immutable
set search_path = ''
as $$
    select case when right(p_pattern, 1) = '*' then left(p_pattern, -1) end
$$;
