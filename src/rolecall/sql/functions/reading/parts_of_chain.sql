-- Lists the last tasks of a chain, optionally only those before an index.
-- returns: the ids of at most p_limit tasks, in their order
-- public: yes
create or replace function rolecall.parts_of_chain(
    p_chain_id bigint, p_before int default null, p_limit int default 50
)
returns table (id bigint)
language sql
stable
rows 50
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select last.id
    from (
        select part.id, part.chain_index
        from (
            select task.id, task.chain_index
            from rolecall.tasks as task
            where task.id = p_chain_id and task.chain_index = 0
            union all
            select task.id, task.chain_index
            from rolecall.tasks as task
            where task.chain_id = p_chain_id and task.chain_index > 0
            union all
            select task.id, task.chain_index
            from rolecall.finished_tasks as task
            where task.id = p_chain_id and task.chain_index = 0
            union all
            (
                select task.id, task.chain_index
                from rolecall.finished_tasks as task
                where task.chain_id = p_chain_id and task.chain_index > 0
                    and task.chain_index < coalesce(p_before, 2147483647)
                order by task.chain_index desc
                limit p_limit
            )
        ) as part
        where part.chain_index < coalesce(p_before, 2147483647)
        order by part.chain_index desc
        limit p_limit
    ) as last
    order by last.chain_index
$$;
