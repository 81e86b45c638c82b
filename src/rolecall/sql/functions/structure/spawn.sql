-- Adds children to a running or waiting task, which then waits for them too. SQL handlers call it for their
-- own task.
-- returns: the children's ids in input order; if a dedupe_key has an existing task, the id of that task,
-- which is not a child
-- raises: RC031, RC040 an invalid task; RC043 one that would wait for itself; RC044 the parent is not open
-- or has children of the other kind; RC045 the dedupe_key must be new; RC050 wrong isolation level
-- locks: needed tasks, children before parents; the parent; dedupe keys in their order
-- notifies: rolecall_wake, if an idle worker waits for a child's role
-- public: yes
create or replace function rolecall.spawn(p_parent_id bigint, p_tasks jsonb, p_serial boolean default null)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return rolecall.try_to_spawn(p_parent_id, p_tasks, p_serial);
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;

-- Adds children as spawn does, unless a lock wait timed out.
-- returns: the children's ids in input order; if a dedupe_key has an existing task, the id of that task,
-- which is not a child
-- raises: as spawn; 55P03, RC090 roll back and try again
-- locks: needed tasks, children before parents; the parent; dedupe keys in their order
-- notifies: rolecall_wake, if an idle worker waits for a child's role
create or replace function rolecall.try_to_spawn(p_parent_id bigint, p_tasks jsonb, p_serial boolean)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_serial boolean;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    perform rolecall.hold_needed(p_tasks, p_parent_id);
    select case when task.open_children is not null then task.serial end into v_serial
    from rolecall.tasks as task
    where task.id = p_parent_id and task.state in ('running', 'waiting')
    for update;
    if not found then
        perform rolecall.refuse(
            'RC044', format('Parent task %s not found among those that run or wait', p_parent_id)
        );
    elsif v_serial <> p_serial then
        perform rolecall.refuse('RC044', format(
            'the children of task %s are %s', p_parent_id,
            case when v_serial then 'serial' else 'concurrent' end
        ));
    end if;
    return rolecall.add_children(p_parent_id, null, p_tasks, p_serial);
end
$$;
