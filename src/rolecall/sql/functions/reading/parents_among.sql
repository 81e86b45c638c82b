-- Finds those of the given tasks that have children, open or finished.
-- returns: their ids
-- public: yes
create or replace function rolecall.parents_among(p_ids bigint[])
returns setof bigint
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select given.id
    from unnest(p_ids) as given (id)
    where exists (select from rolecall.tasks as child where child.parent_id = given.id)
        or exists (select from rolecall.finished_tasks as child where child.parent_id = given.id)
$$;
