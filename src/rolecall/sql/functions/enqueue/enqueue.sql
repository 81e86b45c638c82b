-- Stores one task; for people in psql and for drivers that know no JSON.
-- returns: the task's id, or that of the open task with the same handler and dedupe_key
-- raises: as store_tasks
-- locks: the dedupe key; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.enqueue(
    p_role text,
    p_payload jsonb default '{}',
    p_handler text default null,
    p_priority int default 0,
    p_scheduled_for timestamptz default null,
    p_key text default null,
    p_dedupe_key text default null,
    p_max_attempts int default null
)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select batch.ids[1]
    from rolecall.enqueue_many(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'role', p_role, 'handler', p_handler, 'priority', p_priority, 'scheduled_for', p_scheduled_for,
        'key', p_key, 'dedupe_key', p_dedupe_key, 'max_attempts', p_max_attempts
    )) || jsonb_build_object('payload', p_payload))) as batch
$$;

-- Stores a batch of tasks, all or none. An open task with the same handler and dedupe_key stands for the new
-- one, unless that says otherwise (`dedupe`).
-- returns: one row: the ids in input order, and which of them already stood
-- raises: as store_tasks
-- locks: as `store_tasks`: dedupe keys in their order; waits for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.enqueue_many(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    if p_tasks @? '$[*] ? (exists (@.needs) || exists (@.dedupe))' then
        return query select * from rolecall.store_beside_others(p_tasks);
    else
        return query select * from rolecall.store_tasks(p_tasks, null);
    end if;
end
$$;

-- Stores a batch whose tasks need or change others, as store_tasks does.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: as store_tasks
-- locks: as store_tasks
-- notifies: as store_tasks
create or replace function rolecall.store_beside_others(p_tasks jsonb)
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    loop
        begin
            return query select * from rolecall.store_tasks(p_tasks, null);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;
