-- Makes one payload of the one that stands and a newer one: by a function of the database, or field by field; what no rule names
-- is taken from the newer one.
-- returns: the payload
-- raises: RC040 a field that its rule cannot merge, or a function that returned no object; whatever that function raises
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.merge_payloads(p_old jsonb, p_new jsonb, p_rule jsonb)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_merged jsonb;
begin
    if p_rule ? 'function' then
        execute format('select %s($1, $2)', rolecall.find_merger(p_rule ->> 'function')) into v_merged using p_old, p_new;
        if jsonb_typeof(v_merged) is distinct from 'object' then
            perform rolecall.refuse('RC040', format('%s made no object of two payloads', p_rule ->> 'function'));
        end if;
        return v_merged;
    end if;
    select jsonb_object_agg(field.key, rolecall.merge_field(field.key, field.value, p_old -> field.key, p_new -> field.key))
    into v_merged
    from jsonb_each_text(nullif(p_rule -> 'fields', 'null')) as field
    where p_old ? field.key or p_new ? field.key;
    return p_old || p_new || coalesce(v_merged, '{}');
end
$$;
