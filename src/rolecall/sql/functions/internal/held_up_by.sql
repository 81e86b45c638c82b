-- Tells what a blocked or waiting task still waits for: needs that have not ended, or open children.
-- returns: a document: how many, and the first ten: the open task of each, and the chain where the whole of one is needed; null
--          for other tasks
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.held_up_by(p_task rolecall.tasks)
returns jsonb
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select case p_task.state
        when 'blocked' then jsonb_build_object('number', p_task.open_needs, 'first', (
            select jsonb_agg(jsonb_build_object(
                -- Of a chain, the link with which it stands open.
                'id', coalesce((
                    select link.id from rolecall.tasks as link
                    where need.whole_chain and link.chain_id = need.needed_id and link.chain_index > 0
                ), need.needed_id),
                'chain_id', case when need.whole_chain then need.needed_id end
            ) order by need.position)
            from (
                select * from rolecall.needs as open
                where open.task_id = p_task.id and open.outcome is null
                order by open.position
                limit 10
            ) as need
        ))
        when 'waiting' then jsonb_build_object('number', p_task.open_children, 'first', (
            select jsonb_agg(jsonb_build_object('id', child.id) order by child.id)
            from (
                select task.id from rolecall.tasks as task where task.parent_id = p_task.id order by task.id limit 10
            ) as child
        ))
    end
$$;
