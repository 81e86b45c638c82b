-- Finds a procedure of the database by its name with schema and by what it takes: (jsonb, inout jsonb), or
-- (jsonb) for a hook. Who has only lent rights finds those of the owner.
-- returns: its name, quoted where that is needed; null where there is none
create or replace function rolecall.find_procedure(p_name text, p_is_hook boolean)
returns text
language sql
stable
set search_path = ''
as $$
    select format('%I.%I', place.nspname, found.proname)
    from pg_catalog.pg_proc as found
    join pg_catalog.pg_namespace as place on place.oid = found.pronamespace
    where p_name in (
        format('%I.%I', place.nspname, found.proname), format('%s.%s', place.nspname, found.proname)
    )
        and found.prokind = 'p'
        and oidvectortypes(found.proargtypes) = case when p_is_hook then 'jsonb' else 'jsonb, jsonb' end
        and (rolecall.is_owners_session() or found.proowner = current_user::regrole)
        and found.proargmodes is not distinct from case when not p_is_hook then '{i,b}'::"char"[] end
$$;
