-- Says where a schedule's plan goes on after a change: where it stood, unless the change moves it. A cron expression's slots are
-- looked for from there on by the next tick.
-- returns: the next moment to look at the schedule; for an interval, its next slot
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.next_plan(p_standing rolecall.schedules, p_amended jsonb, p_now timestamptz)
returns timestamptz
language sql
stable
set search_path = ''
as $$
    select case
        when p_amended ->> 'first_run_at' is not null then (p_amended ->> 'first_run_at')::timestamptz
        when p_standing.id is null then p_now
        when p_amended ? 'cron' and (moved.rhythm or moved.wakes) then
            greatest(p_now, p_standing.last_run_at + interval '1 us')
        when moved.rhythm then greatest(p_now, coalesce(p_standing.last_run_at, p_now) + given.every)
        when moved.wakes and p_standing.next_run_at < p_now then
            p_standing.next_run_at + ceil(extract(epoch from p_now - p_standing.next_run_at) / extract(epoch from given.every)) * given.every
        else p_standing.next_run_at
    end
    from (select make_interval(secs => (p_amended ->> 'every')::float8) as every) as given
    cross join lateral (select
        (given.every, p_amended ->> 'cron') is distinct from (p_standing.every, p_standing.cron)
            or p_standing.cron is not null and coalesce(p_amended ->> 'zone', 'UTC') is distinct from p_standing.zone as rhythm,
        not p_standing.enabled and (p_amended ->> 'enabled')::boolean as wakes
    ) as moved
$$;
