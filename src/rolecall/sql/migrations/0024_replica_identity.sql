-- breaking: no
-- A publication for all tables takes no update and no delete of a table whose rows have no identity: these have no primary key, and are
-- known by the whole row instead, which costs only where they are published.
do $$
declare
    v_table regclass;
begin
    for v_table in
        select tree.relid
        from unnest(array['rolecall.finished_tasks', 'rolecall.task_events', 'rolecall.finished_counts']::regclass[]) as parent (name)
        cross join lateral (
            select relid, level from pg_partition_tree(parent.name) union select parent.name, 0
        ) as tree
        join pg_class as class on class.oid = tree.relid
        where class.relreplident <> 'f'
        order by parent.name, tree.level, class.relname
    loop
        execute format('alter table %s replica identity full', v_table);
    end loop;
end
$$;
