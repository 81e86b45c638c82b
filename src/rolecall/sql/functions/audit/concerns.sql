-- Returns whether a change is about a thing: its id or name is the outcome, a detail, or in a list or filter
-- among the details.
-- public: yes
create or replace function rolecall.concerns(p_detail jsonb, p_outcome jsonb, p_thing text)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(p_outcome #>> '{}' = p_thing, false) or exists (
        select
        from jsonb_each(p_detail) as part
        where part.value #>> '{}' = p_thing
            or (jsonb_typeof(part.value) = 'array' and exists (
                select from jsonb_array_elements_text(part.value) as each (item) where each.item = p_thing
            ))
            or (part.key = 'which' and exists (
                select from jsonb_each_text(part.value) as condition where condition.value = p_thing
            ))
    )
$$;
