-- Lists the children of a task in the order in which they were spawned, those of all its runs, optionally
-- only those after a given child.
-- returns: the ids of at most p_limit of them
-- public: yes
create or replace function rolecall.children_in_order(
    p_parent_id bigint, p_after bigint default null, p_limit int default 50
)
returns setof bigint
language sql
stable
rows 50
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select child.id
    from (
        select id from rolecall.tasks where parent_id = p_parent_id
        union all
        select id from rolecall.finished_tasks where parent_id = p_parent_id
    ) as child
    where p_after is null or child.id > p_after
    order by child.id
    limit p_limit
$$;
