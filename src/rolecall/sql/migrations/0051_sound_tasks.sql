-- breaking: no
-- Each statement that stores or changes tasks reads the checks of its table anew, and fifteen of them took longer than the rest of a small
-- statement. One function says the same rules; what was stored before kept to them, and is looked at again by the next file.
create function rolecall.is_sound(p_task rolecall.tasks)
returns boolean
language plpgsql
immutable
as $$
declare
    v_broken text := case
        when p_task.state not in ('blocked', 'pending', 'running', 'waiting')
            then 'only_open_states_stand_here'
        when num_nonnulls(p_task.worker_id, p_task.claimed_at, p_task.lease_until, p_task.deadline_at)
            <> case when p_task.state = 'running' then 4 else 0 end
            then 'running_iff_owned_leased_and_bounded'
        when p_task.started_at is not null and p_task.state not in ('running', 'waiting')
            then 'only_running_or_waiting_tasks_have_started'
        when p_task.cancel_requested_at is not null and p_task.state <> 'running'
            then 'only_running_tasks_await_their_cancellation'
        when p_task.state = 'running' and least(p_task.attempt, p_task.fence) < 1
            then 'a_claim_counts_an_attempt'
        when p_task.attempt < 0 or p_task.attempt > p_task.max_attempts
            then 'attempts_stay_within_max_attempts'
        when p_task.parked and (p_task.state <> 'pending' or p_task.key is null)
            then 'only_pending_keyed_tasks_are_parked'
        when jsonb_typeof(p_task.payload) <> 'object'
            then 'payload_is_an_object'
        when case
            when p_task.key is null then p_task.key_slot is not null
            when p_task.state in ('running', 'waiting') then p_task.key_slot is null
            when p_task.state = 'pending' and p_task.step is not null then false
            else p_task.key_slot is not null
        end
            then 'holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps'
        when (p_task.open_needs is not null) <> (p_task.state = 'blocked')
            then 'blocked_iff_it_needs_something'
        when p_task.open_needs < 1
            then 'open_needs_are_counted_from_one'
        when p_task.state = 'waiting' and p_task.open_children is null
            then 'waiting_only_for_children'
        when p_task.open_children < 1
            then 'open_children_are_counted_from_one'
        when num_nonnulls(p_task.parent_id, p_task.parent_fence, p_task.depth) not in (0, 3)
            then 'a_child_knows_which_claim_spawned_it'
        when p_task.timeout <= '0 s'
            then 'timeout_is_positive'
    end;
begin
    if v_broken is not null then
        raise exception using
            errcode = 'check_violation', schema = 'rolecall', table = 'tasks', constraint = v_broken,
            message = format('new row for relation "tasks" violates check constraint "%s"', v_broken),
            detail = format('It is task %s.', p_task.id);
    end if;
    return true;
end
$$;

alter table rolecall.tasks
    drop constraint only_open_states_stand_here,
    drop constraint running_iff_owned_leased_and_bounded,
    drop constraint only_running_or_waiting_tasks_have_started,
    drop constraint only_running_tasks_await_their_cancellation,
    drop constraint a_claim_counts_an_attempt,
    drop constraint attempts_stay_within_max_attempts,
    drop constraint only_pending_keyed_tasks_are_parked,
    drop constraint payload_is_an_object,
    drop constraint holds_a_slot_iff_keyed_and_active_but_may_keep_it_between_steps,
    drop constraint blocked_iff_it_needs_something,
    drop constraint open_needs_are_counted_from_one,
    drop constraint waiting_only_for_children,
    drop constraint open_children_are_counted_from_one,
    drop constraint a_child_knows_which_claim_spawned_it,
    drop constraint timeout_is_positive,
    add constraint is_sound check (rolecall.is_sound(tasks)) not valid;
