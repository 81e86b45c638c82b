-- Insists that a schedule is one: a name, a known role, an interval of a second to ten years, a task that could be enqueued.
-- returns: nothing
-- raises: RC021 invalid schedule, RC031 unknown role
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.check_schedule(p_schedule jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_name text := p_schedule ->> 'name';
    v_every float8 := (p_schedule ->> 'every')::float8;
begin
    if coalesce(length(v_name), 0) not between 1 and 100 then
        perform rolecall.refuse('RC021', 'a schedule has a name of 1 to 100 characters');
    elsif v_every is null or v_every not between 1 and 315360000 then
        perform rolecall.refuse('RC021', format('schedule %s: every is 1 to 315360000 seconds', v_name));
    elsif not isfinite((p_schedule ->> 'first_run_at')::timestamptz) then
        perform rolecall.refuse('RC021', format('schedule %s: first_run_at is a moment, not infinity', v_name));
    end if;
    -- What refuses a task refuses the schedule that would enqueue it.
    perform rolecall.read_drafts(jsonb_build_array(p_schedule - '{name,every,enabled,first_run_at}'::text[]), rolecall.clock());
end
$$;
