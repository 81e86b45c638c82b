-- Forgets single finished tasks whose own time, and that of all they belong to, is up; a parent goes after its children. What a task
-- needed goes with it.
-- returns: how many
-- raises: nothing
-- locks: finished_tasks rows
-- notifies: nothing
create or replace function rolecall.prune_finished_tasks(p_held bigint[], p_now timestamptz, p_limit int)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Whatever finished after this is wanted by every role: without this bound, each call would read the whole history.
    v_youngest timestamptz := p_now - (select min(least(keep_completed, keep_failed)) from rolecall.roles);
    v_gone bigint[];
begin
    with gone as (
        delete from rolecall.finished_tasks as finished
        where finished.finished_at < v_youngest and (finished.id, finished.finished_at) in (
            select old.id, old.finished_at
            from rolecall.finished_tasks as old
            join rolecall.lines as line on line.id = old.line_id
            join rolecall.roles as role on role.name = line.role
            where old.finished_at < v_youngest
                and old.finished_at < p_now - case old.state when 'completed' then role.keep_completed else role.keep_failed end
                and case
                    when old.parent_id is null and old.chain_index = 0 and old.continued is not true then old.id <> all(p_held)
                    else not rolecall.is_wanted(old.chain_id, old.parent_id, p_held, p_now)
                end
                -- Not `exists`, which may be answered from a list of all children.
                and (select true from rolecall.finished_tasks as child where child.parent_id = old.id limit 1) is null
            limit p_limit
        )
        returning finished.id
    )
    select array_agg(gone.id) into v_gone from gone;
    delete from rolecall.needs as need where need.task_id = any(v_gone);
    return coalesce(cardinality(v_gone), 0);
end
$$;
