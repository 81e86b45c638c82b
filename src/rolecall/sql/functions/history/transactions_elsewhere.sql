-- Tells which transactions of the server cannot touch a task: those of other databases, and of vacuuming. A
-- snapshot names them too. Sessions that this user may not see are left out.
-- returns: the lower halves of their numbers; none: an empty array
-- public: yes
create or replace function rolecall.transactions_elsewhere()
returns xid[]
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select session.backend_xid
        from pg_catalog.pg_stat_activity as session
        where session.backend_xid is not null and (
            session.datid is distinct from (
                select oid from pg_catalog.pg_database where datname = current_database()
            )
            or session.backend_type = 'autovacuum worker'
        )
    );
$$;
