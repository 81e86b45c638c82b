-- Makes one value of the one that stands and a newer one; where one is missing or null, the other is taken.
-- returns: the value; a union keeps the order in which its elements came
-- raises: RC040 values that the rule cannot merge: a union is of arrays, a sum of numbers, max and min of two numbers or two texts
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.merge_field(p_field text, p_rule text, p_old jsonb, p_new jsonb)
returns jsonb
language plpgsql
immutable
set search_path = ''
as $$
declare
    v_types text := format('%s and %s', jsonb_typeof(p_old), jsonb_typeof(p_new));
begin
    if coalesce(p_old, 'null') = 'null' or coalesce(p_new, 'null') = 'null' then
        return coalesce(nullif(p_new, 'null'), p_old, p_new);
    elsif p_rule = 'union' and v_types = 'array and array' then
        return coalesce((
            select jsonb_agg(once.value order by once.n)
            from (select value, min(n) as n from jsonb_array_elements(p_old || p_new) with ordinality as item (value, n) group by value) as once
        ), '[]');
    elsif p_rule = 'sum' and v_types = 'number and number' then
        return to_jsonb(p_old::numeric + p_new::numeric);
    elsif p_rule in ('max', 'min') and v_types = 'number and number' then
        return case when (p_new::numeric > p_old::numeric) = (p_rule = 'max') then p_new else p_old end;
    elsif p_rule in ('max', 'min') and v_types = 'string and string' then
        return case when (p_new #>> '{}' collate "C" > p_old #>> '{}' collate "C") = (p_rule = 'max') then p_new else p_old end;
    elsif p_rule in ('last', 'keep') then
        return case p_rule when 'last' then p_new else p_old end;
    end if;
    perform rolecall.refuse('RC040', format('field %s cannot be merged: %s of %s', quote_literal(p_field), p_rule, v_types));
end
$$;
