-- Outlines the tree below a task for a picture, level by level. The children of one handler are counted,
-- and listed individually if they are few or noteworthy (see phases_of). Below p_depth levels, and once
-- p_most tasks are listed, they are only counted.
-- returns: one row for each listed task, or the given one, and each handler of its children; none if it has
-- no children
-- public: yes
create or replace function rolecall.outline(
    p_id bigint, p_depth int default 5, p_few int default 12, p_most int default 150,
    p_unfolded_parent bigint default null, p_unfolded_handler text default null
)
returns table (
    parent_id bigint, depth int, handler text, number int, first_id bigint, states jsonb, named bigint[]
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_since timestamptz := (select task.created_at from rolecall.all_tasks as task where task.id = p_id);
    v_parents bigint[] := array[p_id];
    v_next bigint[];
    v_left int := p_most;
begin
    for v_level in 0..p_depth loop
        v_next := '{}';
        depth := v_level;
        for parent_id, handler, number, first_id, states, named in
            select phase.parent_id, phase.handler, phase.number, phase.first_id, phase.states, phase.named
            from rolecall.phases_of(
                v_parents, v_since, p_few, case when v_level < p_depth then v_left else 0 end,
                p_unfolded_parent, p_unfolded_handler
            ) as phase
        loop
            v_next := v_next || named;
            return next;
        end loop;
        exit when v_next = '{}';
        v_left := v_left - cardinality(v_next);
        v_parents := v_next;
    end loop;
end
$$;
