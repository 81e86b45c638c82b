-- Runs the due schedules with an interval: each enqueues its task and advances to its next fire time in the
-- same transaction. The misfire policy decides about fire times that passed while no scheduler ran. A
-- schedule stays due if an open transaction prevents it from cancelling its previous run.
-- returns: one row per fire time that was processed; its task, if it has one
-- raises: RC050 wrong isolation level; not for a schedule whose task is rejected: the schedule stores the
-- error and advances
-- locks: schedules rows, skipping locked rows; then what `cancel` locks
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.fire_schedules(p_limit int default 100)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_due rolecall.schedules;
    v_passed bigint;
begin
    perform rolecall.require_read_committed();
    for v_due in
        select due.* from rolecall.schedules as due
        where due.enabled and due.every is not null and due.next_run_at <= v_now
        order by due.next_run_at, due.id
        limit p_limit
        for update skip locked
    loop
        perform rolecall.require_durability();
        continue when not rolecall.cancel_overlap(v_due);
        v_passed := floor(extract(epoch from v_now - v_due.next_run_at) / extract(epoch from v_due.every));
        return query
        select * from rolecall.run_due_slots(
            v_due,
            array(
                select v_due.next_run_at + n * v_due.every
                from generate_series(greatest(0, v_passed - 99), v_passed) as n
            ),
            v_passed + 1,
            v_due.next_run_at + (v_passed + 1) * v_due.every
        );
    end loop;
end
$$;

-- Runs schedules with a cron expression for the fire times that were computed for them. A plan counts only
-- if the schedule is still in the state from which it was computed: of two identical plans, the second
-- changes nothing. p_plans: objects of id, revision and planned_from (its next_run_at), as due_cron
-- returned them; slots, at most the latest hundred fire times; come, their total number; next, or the error
-- why there is none, which disables the schedule. A schedule stays due if an open transaction prevents it
-- from cancelling its previous run.
-- returns: one row per fire time that was processed; its task, if it has one
-- raises: RC050 wrong isolation level; not for a schedule whose task is rejected: the schedule stores the
-- error and advances
-- locks: schedules rows, skipping locked rows; then what `cancel` locks
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.fire_cron(p_plans jsonb)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_due record;
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    for v_due in
        select due as schedule, plan.slots, plan.come, plan.next, plan.error
        from jsonb_to_recordset(p_plans) as plan (
            id bigint, revision int, planned_from timestamptz, slots timestamptz[], come bigint,
            next timestamptz, error text
        )
        join rolecall.schedules as due on due.id = plan.id and due.revision = plan.revision
            and due.next_run_at = plan.planned_from and due.enabled
        order by due.next_run_at, due.id
        for update of due skip locked
    loop
        continue when not rolecall.cancel_overlap(v_due.schedule);
        return query
        select * from rolecall.run_due_slots(
            v_due.schedule, v_due.slots, v_due.come, coalesce(v_due.next, (v_due.schedule).next_run_at)
        );
        if v_due.next is null then
            update rolecall.schedules as stuck
            set enabled = false, last_error = v_due.error, revision = stuck.revision + 1
            where stuck.id = (v_due.schedule).id;
        end if;
    end loop;
end
$$;

-- Lists the schedules with a cron expression whose next time has come. The caller computes their fire times
-- from there.
-- returns: one row per schedule, the most overdue first, with the current time of the engine's clock
-- public: yes
create or replace function rolecall.due_cron(p_limit int default 100)
returns table (
    id bigint, name text, cron text, zone text, revision int, next_run_at timestamptz, present timestamptz
)
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select due.id, due.name, due.cron, due.zone, due.revision, due.next_run_at, moment.present
    from rolecall.schedules as due
    cross join (select rolecall.clock() as present) as moment
    where due.enabled and due.cron is not null and due.next_run_at <= moment.present
    order by due.next_run_at, due.id
    limit p_limit
$$;

-- Runs the fire times of a schedule that have come, according to its misfire and overlap policies, and
-- advances it to the next. Takes the latest fire times, the oldest first, and their total number. A fire
-- time is late if the scheduler comes more than a minute after it.
-- returns: one row per fire time that was processed; its task, if it has one
-- raises: nothing: a rejected task is recorded
-- locks: the caller holds the schedules row
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.run_due_slots(
    p_schedule rolecall.schedules, p_slots timestamptz[], p_come bigint, p_next timestamptz
)
returns table (schedule text, task_id bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_chosen timestamptz[] := case p_schedule.misfire
        when 'all' then p_slots
        else p_slots[cardinality(p_slots):]
    end;
    v_missed bigint := p_come - cardinality(v_chosen);
    v_outcome text := case
        when p_schedule.misfire = 'skip' and v_chosen[1] < v_now - interval '1 minute' then 'missed'
        when p_schedule.overlap = 'skip' and rolecall.is_open(p_schedule.last_task_id, true) then 'skipped'
    end;
    v_slot timestamptz;
begin
    schedule := p_schedule.name;
    foreach v_slot in array v_chosen loop
        if v_outcome is null then
            task_id := rolecall.run_schedule(p_schedule, v_slot, v_missed);
        else
            insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed)
            values (p_schedule.id, v_slot, v_now, v_outcome, v_missed);
        end if;
        v_missed := 0;
        return next;
    end loop;
    update rolecall.schedules set next_run_at = p_next where id = p_schedule.id;
end
$$;

-- Enqueues a schedule's task for one fire time, or for now, once regardless of how often it is called, and
-- records the result in the schedule and its history.
-- returns: the task's id; null if it was rejected
-- raises: transient errors, such as a lock timeout or a full disk: the fire time remains and is retried
-- locks: the caller holds the schedules row
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.run_schedule(
    p_schedule rolecall.schedules, p_slot timestamptz, p_missed bigint
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_slot text := coalesce(extract(epoch from p_slot)::bigint::text, 'now');
    v_task_id bigint;
    v_stood boolean;
    v_error text;
begin
    -- A subtransaction per schedule, so that an invalid task does not prevent other schedules from running.
    begin
        select stored.ids[1], cardinality(stored.deduplicated) > 0 into v_task_id, v_stood
        from rolecall.store_tasks(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
            'role', p_schedule.role, 'handler', p_schedule.handler, 'priority', p_schedule.priority, 'key',
            p_schedule.key, 'dedupe_key', format('schedule:%s:%s', p_schedule.id, v_slot),
            'scheduled_for', case
                when p_schedule.jitter > '0 s' then p_slot + rolecall.slot_offset(
                    p_schedule.id, p_slot, p_schedule.jitter
                )
            end
        )) || jsonb_build_object('payload', p_schedule.payload)), array[
            (null, null, null, null, null, null, null, null, null, null, p_slot)::rolecall.place
        ]) as stored;
    exception
        when connection_exception
            or invalid_transaction_state
            or transaction_rollback
            or insufficient_resources
            or object_not_in_prerequisite_state or operator_intervention or system_error or internal_error
            or sqlstate 'RC090' then
            raise;
        when others then
            v_error := sqlerrm;
    end;
    insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed, task_id, error)
    values (
        p_schedule.id, p_slot, v_now,
        case when v_error is not null then 'refused' when v_stood then 'stood' else 'enqueued' end,
        p_missed, v_task_id, v_error
    );
    update rolecall.schedules
    set last_run_at = v_now, last_error = v_error, last_task_id = coalesce(v_task_id, last_task_id),
        last_task_count = (v_task_id is not null)::int
    where id = p_schedule.id;
    return v_task_id;
end
$$;

-- Cancels the open task of a schedule's previous run if the overlap policy requires it, without waiting for
-- other open transactions.
-- returns: false if one of them prevents it: the schedule must be tried again later
-- locks: what try_to_cancel locks, waiting only briefly
-- notifies: rolecall_cancel with the workers' ids
create or replace function rolecall.cancel_overlap(p_schedule rolecall.schedules)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '10ms'
as $$
begin
    if p_schedule.overlap = 'cancel' and rolecall.is_open(p_schedule.last_task_id, true) then
        perform rolecall.try_to_cancel(array[rolecall.open_end_of_chain(p_schedule.last_task_id)]);
    end if;
    return true;
exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
    return false;
end
$$;

-- Returns the random delay of a fire time's task: the same for the same fire time, evenly distributed over
-- the jitter.
-- returns: zero to the jitter
create or replace function rolecall.slot_offset(p_schedule_id bigint, p_slot timestamptz, p_jitter interval)
returns interval
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select (
        'x' || substr(md5(format('%s:%s', p_schedule_id, extract(epoch from p_slot))), 1, 8)
    )::bit(32)::bigint / 4294967296.0 * p_jitter
$$;
