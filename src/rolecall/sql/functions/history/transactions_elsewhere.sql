-- Lists the server's transactions that cannot touch a task: those of other databases and of autovacuum
-- workers, which snapshots also contain. Sessions that this user cannot see are omitted.
-- returns: the lower halves of their numbers; an empty array if there are none
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
        union all
        select prepared.transaction
        from pg_catalog.pg_prepared_xacts as prepared
        where prepared.database <> current_database()
    );
$$;
