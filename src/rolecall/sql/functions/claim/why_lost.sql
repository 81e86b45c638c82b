-- Says why a claim no longer owns its task.
-- returns: taken, completed, cancelled, deleted; already where this very claim ended by its own report; owned
-- where it still owns
create or replace function rolecall.why_lost(p_worker_id bigint, p_id bigint, p_fence int)
returns text
language sql
volatile
set search_path = ''
as $$
    select coalesce(
        (
            select case
                when state = 'running' and worker_id = p_worker_id and fence = p_fence then 'owned'
                -- Whoever else takes a claim away moves the fence on.
                when state <> 'running' and fence = p_fence then 'already'
                else 'taken'
            end
            from rolecall.tasks
            where id = p_id
        ),
        (
            select case
                when worker_id = p_worker_id and fence = p_fence then 'already'
                when state = 'cancelled' then 'cancelled'
                else 'completed'
            end
            -- Not before the worker came: what it has claimed ended later.
            from rolecall.find_finished(array[p_id], coalesce(
                (select worker.started_at from rolecall.workers as worker where worker.id = p_worker_id),
                '-infinity'
            ))
            order by finished_at desc
            limit 1
        ),
        'deleted'
    )
$$;
