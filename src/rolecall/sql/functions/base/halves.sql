-- Halves a list of two elements or more.
-- returns: two arrays
create or replace function rolecall.halves(p_list jsonb)
returns setof jsonb
language sql
immutable
set search_path = ''
as $$
    select jsonb_agg(element order by n)
    from jsonb_array_elements(p_list) with ordinality as item (element, n)
    group by n > jsonb_array_length(p_list) / 2
$$;
