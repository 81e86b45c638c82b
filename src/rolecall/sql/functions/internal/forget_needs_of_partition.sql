-- Forgets what a day's finished tasks have needed, but for some of them.
-- returns: nothing
-- raises: nothing
-- locks: needs rows, skipping locked ones: who ends a task holds them, and may not be waited for before a table is locked
-- notifies: nothing
create or replace function rolecall.forget_needs_of_partition(p_name text, p_kept bigint[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    execute format(
        'delete from rolecall.needs where (task_id, position) in (
            select need.task_id, need.position
            from rolecall.needs as need
            join rolecall.%I as old on old.id = need.task_id
            where old.id <> all($1)
            for update of need skip locked
        )', p_name
    ) using p_kept;
end
$$;
