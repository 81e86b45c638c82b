-- Leaves out the members of an object that are null; what stands deeper stays as it is.
-- returns: the object
create or replace function rolecall.without_nulls(p_object jsonb)
returns jsonb
language sql
immutable
set search_path = ''
as $$
    select coalesce(jsonb_object_agg(member.key, member.value), '{}')
    from jsonb_each(p_object) as member
    where member.value <> 'null'
$$;
