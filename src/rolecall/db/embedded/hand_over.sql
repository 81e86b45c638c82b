-- Makes the owner of the databases the owner of what the superuser has in this one, but for what came with an extension.
do $$
declare
    v_statement text;
begin
    set local lock_timeout = '5s';
    for v_statement in
        with his as (
            select 'rolecall_superuser'::regrole as name, 16384::oid as first_of_users
        )
        select format('schema %I', place.nspname)
        from pg_namespace as place, his
        where place.nspowner = his.name and place.oid >= his.first_of_users
            and not exists (select from pg_depend where objid = place.oid and deptype = 'e')
        union all
        -- A sequence that belongs to a column goes with its table, an index too.
        select format('%s %s', case relation.relkind
            when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' when 'f' then 'foreign table' else 'table'
        end, relation.oid::regclass)
        from pg_class as relation, his
        where relation.relowner = his.name and relation.oid >= his.first_of_users and relation.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
            and not exists (
                select from pg_depend
                where classid = 'pg_class'::regclass and objid = relation.oid and deptype in ('e', 'a', 'i')
                    and (deptype = 'e' or relation.relkind = 'S')
            )
        union all
        select format('routine %s', routine.oid::regprocedure)
        from pg_proc as routine, his
        where routine.proowner = his.name and routine.oid >= his.first_of_users
            and not exists (select from pg_depend where objid = routine.oid and deptype = 'e')
        union all
        -- Arrays and ranges of ranges go with what they are made of, a table's type with the table.
        select format('type %s', kind.oid::regtype)
        from pg_type as kind, his
        where kind.typowner = his.name and kind.oid >= his.first_of_users
            and (kind.typtype in ('d', 'e', 'r') or kind.typtype = 'c' and exists (
                select from pg_class as relation where relation.oid = kind.typrelid and relation.relkind = 'c'
            ))
            and not exists (select from pg_depend where objid = kind.oid and deptype = 'e')
        union all
        select format('large object %s', thing.oid)
        from pg_largeobject_metadata as thing, his
        where thing.lomowner = his.name
    loop
        execute format('alter %s owner to rolecall', v_statement);
    end loop;
end
$$;
