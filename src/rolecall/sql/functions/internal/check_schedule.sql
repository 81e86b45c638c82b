-- Insists that a schedule is one: a name, a known role, a rhythm, policies that go together, a task that could be enqueued. Whether
-- a cron expression and its zone mean anything is for those to judge who compute its slots.
-- returns: nothing
-- raises: RC021 invalid schedule, RC031 unknown role, RC040 what is no task
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
    v_jitter float8 := coalesce((p_schedule ->> 'jitter')::float8, 0);
    v_misfire text := coalesce(p_schedule ->> 'misfire', 'one');
    v_overlap text := coalesce(p_schedule ->> 'overlap', 'queue');
    v_problem text;
begin
    if coalesce(length(v_name), 0) not between 1 and 100 then
        perform rolecall.refuse('RC021', 'a schedule has a name of 1 to 100 characters');
    end if;
    v_problem := case
        when num_nonnulls(p_schedule ->> 'every', p_schedule ->> 'cron') = 0 then
            'it needs an interval (every) or a cron expression (cron)'
        when num_nonnulls(p_schedule ->> 'every', p_schedule ->> 'cron') = 2 then
            'it has either an interval (every) or a cron expression (cron), not both'
        when v_every not between 1 and 315360000 then 'every is 1 to 315360000 seconds'
        when length(p_schedule ->> 'cron') > 200 then 'a cron expression has at most 200 characters'
        when not isfinite((p_schedule ->> 'first_run_at')::timestamptz) then 'first_run_at is a moment, not infinity'
        when v_misfire not in ('skip', 'one', 'all') then format('misfire is skip, one or all, not %L', v_misfire)
        when v_overlap not in ('skip', 'queue', 'cancel') then format('overlap is skip, queue or cancel, not %L', v_overlap)
        when v_misfire = 'all' and v_overlap <> 'queue' then
            format('misfire all needs overlap queue: with %s only one of the missed runs would stay', v_overlap)
        when v_jitter not between 0 and 86400 then 'jitter is 0 to 86400 seconds'
        when v_jitter > v_every then 'jitter is no longer than the interval'
    end;
    perform rolecall.refuse('RC021', format('schedule %s: %s', v_name, v_problem)) where v_problem is not null;
    -- What refuses a task refuses the schedule that would enqueue it.
    perform rolecall.read_drafts(jsonb_build_array(
        jsonb_build_object('payload', '{}'::jsonb) || (
            select coalesce(jsonb_object_agg(said.key, said.value), '{}')
            from jsonb_each(p_schedule) as said
            where said.key in ('role', 'handler', 'payload', 'priority', 'key')
        )
    ), rolecall.clock());
end
$$;
