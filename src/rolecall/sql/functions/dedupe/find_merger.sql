-- Finds a function of the database that makes one payload of two, by its name with schema.
-- returns: its name, quoted where that is needed; null where there is none
create or replace function rolecall.find_merger(p_name text)
returns text
language plpgsql
stable
set search_path = ''
as $$
begin
    return (
        select format('%I.%I', place.nspname, found.proname)
        from pg_catalog.pg_proc as found
        join pg_catalog.pg_namespace as place on place.oid = found.pronamespace
        where found.oid = to_regprocedure(p_name || '(jsonb,jsonb)') and found.prokind = 'f'
            and not found.proretset
            and found.prorettype = 'jsonb'::regtype
            and (rolecall.is_owners_session() or found.proowner = current_user::regrole)
    );
exception when invalid_name or syntax_error then
    -- Before Postgres 16 what cannot be a name is an error, not just the name of nothing.
    return null;
end
$$;
