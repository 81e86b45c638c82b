-- Lists the needs between the given tasks.
-- returns: one row per need
-- public: yes
create or replace function rolecall.needs_among(p_ids bigint[])
returns table (task_id bigint, needed_id bigint, whole_chain boolean, outcome rolecall.task_state)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select need.task_id, need.needed_id, need.whole_chain, need.outcome
    from rolecall.needs as need
    where need.task_id = any(p_ids) and need.needed_id = any(p_ids)
    order by need.task_id, need.position
$$;
