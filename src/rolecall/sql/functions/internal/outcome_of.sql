-- Says how a task, or a chain by its last task, has ended.
-- returns: the state; null where there is none such
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.outcome_of(p_id bigint, p_whole_chain boolean)
returns rolecall.task_state
language sql
stable
set search_path = ''
as $$
    select coalesce(
        (
            select state from rolecall.finished_tasks
            where p_whole_chain and chain_id = p_id and chain_index > 0
            order by chain_index desc
            limit 1
        ),
        (select state from rolecall.finished_tasks where id = p_id order by finished_at desc limit 1)
    )
$$;
