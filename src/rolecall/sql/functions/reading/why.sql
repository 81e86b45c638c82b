-- Collects everything that determines whether a task runs now, in one snapshot. Counts up to 10,001 of the
-- tasks before it.
-- returns: a document; null if the task does not exist
-- public: yes
create or replace function rolecall.why(p_task_id bigint)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with open as materialized (
        select task, setting.role, setting.handler, setting.lease, setting.misfit_for, moment.now,
            shown.state, shown.state = 'pending' and (task).scheduled_for <= moment.now as due
        from (select rolecall.clock() as now) as moment
        join rolecall.tasks as task on task.id = p_task_id
        cross join lateral (
            select rolecall.shown_state(task.state, task.key_slot, task.started_at) as state
        ) as shown
        join rolecall.line_settings as setting on setting.line_id = task.line_id
    ),
    known as (
        select jsonb_build_object(
            'at', open.now,
            'waits', rolecall.held_up_by(open.task),
            'rescue_from',
            case when open.state = 'running' then rolecall.rescue_from(open.task, open.lease, open.now) end,
            'last_event', (
                select event.kind from rolecall.task_events as event
                where event.task_id = p_task_id and event.at >= (open.task).created_at
                order by event.at desc
                limit 1
            ),
            'key',
            case
                when open.state in ('pending', 'blocked')
                    then rolecall.key_situation(open.task, 10001, open.now)
            end,
            'pause', (
                select jsonb_build_object(
                    'since', role.paused_at, 'until', role.paused_until, 'by', role.paused_by
                )
                from rolecall.roles as role
                where role.name = open.role and role.paused_at is not null
                    and (role.paused_until <= open.now) is not true
            ),
            'one_root', (open.task).parent_id is null and (open.task).key = 'role:' || open.role and exists (
                select from rolecall.roles as role where role.name = open.role and role.one_root
            ),
            'parked', (open.task).parked,
            'unfit_since',
            case
                when open.state = 'pending' and open.misfit_for <> '{}' then rolecall.unfit_since(p_task_id)
            end,
            'workers', (
                select coalesce(jsonb_agg(to_jsonb(worker) order by worker.id), '[]')
                from rolecall.live_workers(open.role, open.handler, open.now) as worker
            ),
            'ahead',
            case
                when open.due and not (open.task).parked and (open.task).worker_id is null
                    then rolecall.ahead_in_line(open.task, 10001, open.now)
            end
        ) as facts
        from open
    )
    select coalesce((select known.facts from known), jsonb_build_object('at', rolecall.clock())) || (
        select jsonb_build_object('id', task.id, 'state', task.state, 'role', task.role,
            'handler', task.handler, 'key_name', task.key, 'attempt', task.attempt, 'error', task.error,
            'worker_id', task.worker_id, 'scheduled_for', task.scheduled_for, 'claimed_at', task.claimed_at,
            'started_at', task.started_at, 'lease_until', task.lease_until, 'deadline_at', task.deadline_at,
            'cancel_requested_at', task.cancel_requested_at, 'finished_at', task.finished_at,
            'expires_at', task.expires_at)
        from rolecall.all_tasks as task
        where task.id = p_task_id
    )
$$;

-- Describes what a blocked or waiting task still waits for: open needs, or open children.
-- returns: a document: how many, and the first ten: the open task of each, and the chain if all of it is
-- needed; null for other tasks
create or replace function rolecall.held_up_by(p_task rolecall.tasks)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select case p_task.state
        when 'blocked' then jsonb_build_object('number', p_task.open_needs, 'first', (
            select jsonb_agg(jsonb_build_object(
                -- For a chain, its open task.
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
                select task.id
                from rolecall.tasks as task
                where task.parent_id = p_task.id
                order by task.id limit 10
            ) as child
        ))
    end
$$;

-- Returns when a rescue may take a running task from its worker: after the lease, but at least one lease
-- after the server's start or a step of its clock; after the deadline if a SQL worker is running it.
-- returns: the time, if nothing is renewed
create or replace function rolecall.rescue_from(p_task rolecall.tasks, p_lease interval, p_now timestamptz)
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select greatest(
        p_task.lease_until,
        p_lease + coalesce(rolecall.epoch_began_at(), p_now),
        (
            select p_task.deadline_at from rolecall.procedure_sessions() as session
            where session.task_id = p_task.id and session.is_drain
            limit 1
        )
    )
$$;

-- Describes what is between a task and its key's permit: the tasks that hold permits, and the better due
-- ones that wait for one.
-- returns: a document: capacity, used, the first holders, how many are better (at most p_most), and the
-- best three of them; null if the task has no key, or holds a permit and is the first there
create or replace function rolecall.key_situation(p_task rolecall.tasks, p_most int, p_now timestamptz)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off
as $$
    with line as materialized (
        select * from rolecall.rival_lines(p_task.line_id, p_task.scheduled_for, p_task.id, false, p_now)
        where p_task.state = 'pending' and p_task.key_slot is null and p_task.scheduled_for <= p_now
    ),
    holder as materialized (
        -- Only the first task of each sequence.
        select distinct on (abs(task.key_slot)) task.id, abs(task.key_slot) as slot
        from rolecall.tasks as task
        where task.key = p_task.key and task.key_slot is not null and task.id <> p_task.id
        order by abs(task.key_slot), task.key_slot desc, task.id
    )
    select jsonb_build_object(
        'capacity', (select room.capacity from rolecall.room_of_keys(array[p_task.key]) as room),
        'used', (select count(*) from holder),
        'holders', array(select holder.id from holder order by holder.slot limit 10),
        'better', (
            select count(*)
            from (
                select
                from line
                cross join lateral (
                    select
                    from rolecall.tasks as task
                    where task.key = p_task.key and task.line_id = line.line_id and task.state = 'pending'
                        and task.key_slot is null and task.scheduled_for <= p_now
                        and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                    limit p_most
                ) as before
                limit p_most
            ) as counted
        ),
        'best', array(
            select before.id
            from line
            cross join lateral (
                select task.scheduled_for, task.id
                from rolecall.tasks as task
                where task.key = p_task.key and task.line_id = line.line_id and task.state = 'pending'
                    and task.key_slot is null and task.scheduled_for <= p_now
                    and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                order by task.scheduled_for, task.id
                limit 3
            ) as before
            order by line.priority desc, before.scheduled_for, before.id
            limit 3
        )
    )
    where p_task.key is not null and coalesce(p_task.key_slot, -1) < 0
$$;

-- Lists the active workers that claim from a role; `able` if they have the handler too.
-- returns: one row per worker, with the tasks that it holds, started or not, and why it takes no new ones
create or replace function rolecall.live_workers(p_role text, p_handler text, p_now timestamptz)
returns table (id bigint, able boolean, slots int, holds bigint, command text, backing_off text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select worker.id, p_handler = any(worker.handlers), worker.slots, held.number, worker.command,
        worker.backing_off
    from rolecall.workers as worker
    cross join lateral (
        select count(*) as number
        from rolecall.tasks as task
        where task.worker_id = worker.id and task.state = 'running'
    ) as held
    where rolecall.is_active(worker, p_now)
        and (worker.roles = '{}' or p_role = any(worker.roles))
    order by worker.id
$$;

-- Counts the due tasks that a task's workers would claim before it and that are not parked.
-- returns: their number, at most p_most
create or replace function rolecall.ahead_in_line(p_task rolecall.tasks, p_most int, p_now timestamptz)
returns bigint
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off
as $$
    select count(*)
    from (
        select
        from rolecall.rival_lines(p_task.line_id, p_task.scheduled_for, p_task.id, true, p_now) as line
        cross join lateral (
            select
            from rolecall.tasks as task
            where task.line_id = line.line_id and task.state = 'pending' and not task.parked
                and (task.scheduled_for, task.id) < (line.due_before, line.id_before)
                and task.scheduled_for <= p_now
            limit p_most
        ) as before
        limit p_most
    ) as counted
$$;

-- Lists the lines whose tasks may precede a task of this role, handler and priority: those that its own
-- workers claim from (p_able), or any active worker, because keys are shared by all roles; always those of
-- its role and handler. Lines of paused roles only if it is the task's own role.
-- returns: one row per line, with the position up to which its tasks precede the one that is due at p_due
create or replace function rolecall.rival_lines(
    p_line_id int, p_due timestamptz, p_id bigint, p_able boolean, p_now timestamptz
)
returns table (line_id int, priority smallint, due_before timestamptz, id_before bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with worker as materialized (
        select distinct worker.roles, worker.handlers
        from rolecall.workers as worker
        join rolecall.lines as own on own.id = p_line_id
        where rolecall.is_active(worker, p_now)
            and worker.command is null
            and (not p_able or (
                own.handler = any(worker.handlers) and (worker.roles = '{}' or own.role = any(worker.roles))
            ))
    )
    select line.line_id, line.priority,
        case when line.priority > own.priority then 'infinity' else p_due end,
        case when line.priority > own.priority then 0 else p_id end
    from rolecall.lines as own
    join rolecall.line_settings as line on line.priority >= own.priority
    where own.id = p_line_id
        and (line.role = own.role or not line.paused or line.paused_until <= p_now)
        and ((line.role = own.role and line.handler = own.handler) or exists (
            select from worker
            where line.handler = any(worker.handlers)
                and (worker.roles = '{}' or line.role = any(worker.roles))
        ))
$$;
