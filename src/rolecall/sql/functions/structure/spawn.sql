-- Adds children to a task that runs or waits: more work that it is to wait for. A SQL handler calls it for
-- its own task.
-- returns: the children's ids in input order; a dedupe_key that already stands gives the id of a task that is
-- no child
-- raises: RC031, RC040 for what is no task; RC043 for one that would wait for itself; RC044 where the parent
-- is not open or has children of the other kind; RC045 a dedupe_key that is to be new; RC050 wrong isolation
-- level
-- locks: needed tasks, children before parents; the parent; dedupe keys in their order
-- notifies: rolecall_wake, where an idle worker waits for a child's role
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

-- Adds children as spawn does, unless something was waited for too long.
-- returns: the children's ids in input order; a dedupe_key that already stands gives the id of a task that is
-- no child
-- raises: as spawn; 55P03, RC090 undo this and try again
-- locks: needed tasks, children before parents; the parent; dedupe keys in their order
-- notifies: rolecall_wake, where an idle worker waits for a child's role
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
