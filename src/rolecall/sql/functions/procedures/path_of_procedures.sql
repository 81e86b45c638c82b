-- Says under which search path procedures and hooks run: in the owner's session its own default, in all
-- others that of the owner, as a caller's path would decide which tables and functions the procedure finds
-- with the owner's rights.
-- returns: the path
create or replace function rolecall.path_of_procedures()
returns text
language sql
stable
set search_path = ''
as $$
    select case when rolecall.is_owners_session() then own.reset_val else coalesce((
        select substr(setting, length('search_path=') + 1)
        from pg_catalog.pg_db_role_setting as said, unnest(said.setconfig) as setting
        where setting like 'search_path=%' and said.setrole in (0, current_user::regrole)
            and said.setdatabase in (
                0, (select oid from pg_catalog.pg_database where datname = current_database())
            )
        order by said.setrole <> 0 desc, said.setdatabase <> 0 desc
        limit 1
    ), 'public') || ', pg_temp' end
    from pg_catalog.pg_settings as own
    where own.name = 'search_path'
$$;
