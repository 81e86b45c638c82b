-- Says what is wrong with a rule by which payloads are to be merged.
-- returns: a sentence, or null when nothing is
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.merge_problem(p_rule jsonb)
returns text
language sql
stable
set search_path = ''
as $$
    select case
        when jsonb_typeof(p_rule) <> 'object' or (select count(*) from jsonb_object_keys(p_rule)) <> 1
            or p_rule not in ('{"kind": "json"}') and not p_rule ?| array['fields', 'function']
            then format('%s is no rule to merge by: it is {"kind": "json"}, {"fields": ...} or {"function": ...}', p_rule)
        when jsonb_typeof(p_rule -> 'fields') <> 'object'
            then format('the fields of a merge are not an object but %s', jsonb_typeof(p_rule -> 'fields'))
        when p_rule ? 'fields' then (
            select format('field %s merges by %s; it is union, sum, max, min, last or keep', quote_literal(field.key), field.value)
            from jsonb_each(p_rule -> 'fields') as field
            where field.value not in ('"union"', '"sum"', '"max"', '"min"', '"last"', '"keep"')
            limit 1
        )
        when p_rule ? 'function' and rolecall.find_merger(p_rule ->> 'function') is null
            then format('there is no function %s(jsonb, jsonb) that returns jsonb; say its schema too', p_rule ->> 'function')
    end
$$;
