-- Looks for a line's first claimable task from the very start, and makes the place before it this session's
-- floor. It looks again so late that it costs a twentieth of the time at most: an old snapshot may keep any
-- number of dead rows there. Of the last two looks the cheaper one counts, as any may have had to wait.
-- returns: the floor
create or replace function rolecall.look_below(p_line_id int, p_now timestamptz)
returns rolecall.floor
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_looked constant text := 'rolecall.look_' || p_line_id;
    v_before constant interval := nullif(current_setting(v_looked, true), '');
    v_began constant timestamptz := clock_timestamp();
    v_took interval;
    v_floor rolecall.floor := (p_now, 0, null);
    v_first record;
begin
    select task.scheduled_for, task.id into v_first
    from rolecall.tasks as task
    where task.line_id = p_line_id and task.state = 'pending' and not task.parked
        and task.scheduled_for <= p_now
    order by task.scheduled_for, task.id
    limit 1;
    if found then
        v_floor := (v_first.scheduled_for, v_first.id - 1, null);
    end if;
    v_took := clock_timestamp() - v_began;
    v_floor.look_below_at := clock_timestamp() + greatest(
        '50 ms', 19 * least(v_took, coalesce(v_before, '0 s'))
    );
    perform set_config(v_looked, v_took::text, false);
    perform set_config('rolecall.floor_' || p_line_id, v_floor::text, false);
    return v_floor;
end
$$;
