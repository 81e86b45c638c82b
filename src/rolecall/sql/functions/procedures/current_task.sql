-- Returns the task of the calling procedure, to which a SQL handler can add children.
-- returns: the task's id; null outside of SQL handlers and their hooks
-- public: yes
create or replace function rolecall.current_task()
returns bigint
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select nullif(current_setting('rolecall.task', true), '')::bigint
$$;
