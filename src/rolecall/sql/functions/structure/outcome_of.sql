-- Says how a task, or a chain by its last task, has ended.
-- returns: the state; null where there is none such
create or replace function rolecall.outcome_of(p_id bigint, p_whole_chain boolean)
returns rolecall.task_state
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_state rolecall.task_state;
begin
    if p_whole_chain then
        v_state := (
            select task.state from rolecall.finished_tasks as task
            where task.chain_id = p_id and task.chain_index > 0
            order by task.chain_index desc
            limit 1
        );
    end if;
    return coalesce(v_state, (
        select task.state
        from rolecall.find_finished(array[p_id]) as task
        order by task.finished_at desc limit 1
    ));
end
$$;
