-- Lists the daily partitions of a table that end before a day, oldest first.
-- returns: their names
create or replace function rolecall.old_partitions(p_table regclass, p_before date)
returns setof text
language sql
stable
set search_path = ''
as $$
    select child.relname
    from pg_catalog.pg_inherits as link
    join pg_catalog.pg_class as child on child.oid = link.inhrelid
    where link.inhparent = p_table and child.relname ~ '_[0-9]{8}$'
        and to_date(right(child.relname, 8), 'YYYYMMDD') < p_before
    order by child.relname
$$;
