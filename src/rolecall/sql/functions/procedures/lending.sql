-- Checks that a procedure or function may run with the owner's rights for the login of this session: it
-- belongs to the owner, and the login cannot have influenced how it runs. A session compiles a function
-- once, under the search path of the first call. A login that can call the function directly could
-- therefore have it compiled with types of its own, which would then run with the owner's rights. This is
-- impossible if the function sets a search path that ends with pg_temp, or if the login cannot call it.
-- raises: 42501 it may not
create or replace function rolecall.require_lendable(p_function regprocedure)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_found record;
begin
    if session_user = current_user or rolecall.is_owners_session() then
        return;
    end if;
    select
        found.proowner = current_user::regrole as is_owners,
        case
            when path.setting is not null then path.setting ~ $re$,\s*"?pg_temp"?\Z$re$
            else not (
                has_function_privilege(session_user, found.oid, 'execute')
                and has_schema_privilege(session_user, found.pronamespace, 'usage')
            )
        end as is_safe
    into v_found
    from pg_catalog.pg_proc as found
    left join lateral (
        select setting from unnest(found.proconfig) as setting where setting like 'search_path=%'
    ) as path on true
    where found.oid = p_function;
    if not v_found.is_owners then
        perform rolecall.refuse(
            '42501', format('%s does not belong to the owner of schema rolecall', p_function)
        );
    elsif not v_found.is_safe then
        perform rolecall.refuse('42501', format(
            '%s would run with the rights of the owner, and %s can call it itself: revoke execute on it from'
            ' public, or let it set a search_path that ends with pg_temp', p_function, session_user
        ));
    end if;
end
$$;
