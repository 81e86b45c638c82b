-- Lists the lines that may have claimable tasks. If the claimant has only a few lines, returns these.
-- Otherwise steps through the index from one line with pending tasks to the next, so that empty lines cost
-- nothing. If stepping is slow, because an old snapshot retains dead rows in the index, all lines are
-- returned for a while, so that stepping takes at most a twentieth of the time: the walks know this
-- session's watermarks and skip dead rows. The shorter of the last two durations counts, because either may
-- include waiting.
-- returns: the ids of the lines
create or replace function rolecall.open_lines(p_claimant rolecall.claim_terms)
returns int[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    -- Walking so few lines is as fast as listing them.
    v_few constant int := 4;
    -- More than a normal listing takes: a base, and a time per line.
    v_quick constant interval := '300 us';
    v_a_step constant interval := '30 us';
    v_began constant timestamptz := clock_timestamp();
    v_all_until constant timestamptz := nullif(current_setting('rolecall.all_lines_until', true), '');
    v_before constant interval := nullif(current_setting('rolecall.open_lines_took', true), '');
    v_took interval;
    v_ids int[] := array(
        select line.id from rolecall.lines as line
        where line.handler = any(p_claimant.handlers)
            and (p_claimant.roles = '{}' or line.role = any(p_claimant.roles))
        limit v_few + 1
    );
begin
    if cardinality(v_ids) <= v_few then
        return v_ids;
    elsif v_began < v_all_until then
        return array(select line.id from rolecall.lines as line);
    end if;
    v_ids := array(
        with recursive step as (
            (
                select task.line_id from rolecall.tasks as task
                where task.state = 'pending' and not task.parked
                order by task.line_id
                limit 1
            )
            union all
            select line.line_id
            from step
            cross join lateral (
                select task.line_id from rolecall.tasks as task
                where task.state = 'pending' and not task.parked and task.line_id > step.line_id
                order by task.line_id
                limit 1
            ) as line
        )
        select step.line_id from step
    );
    v_took := clock_timestamp() - v_began;
    if least(v_took, coalesce(v_before, '0 s')) > v_quick + v_a_step * cardinality(v_ids) then
        perform set_config(
            'rolecall.all_lines_until', (clock_timestamp() + 19 * least(v_took, v_before))::text, false
        );
    end if;
    perform set_config('rolecall.open_lines_took', v_took::text, false);
    return v_ids;
end
$$;

-- Lists the lines that the claimant may claim from now and that may have claimable tasks.
-- returns: one row per line
create or replace function rolecall.open_lines_of(p_claimant rolecall.claim_terms, p_now timestamptz)
returns table (line_id int, priority smallint, never_ahead boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Not inside the statement: a volatile function would keep lines_of_claim from being inlined.
    v_lines constant int[] := rolecall.open_lines(p_claimant);
begin
    return query select * from rolecall.lines_of_claim(v_lines, p_claimant, p_now);
end
$$;

-- Filters lines by what the claimant may claim from now: lines of its roles and handlers that are not
-- paused, that do not need free slots if it claims ahead of them, and whose tasks are not all incompatible
-- with its release.
-- returns: one row per line
-- search_path: not set, so that it is inlined into the calling statement and planned with it
create or replace function rolecall.lines_of_claim(
    p_line_ids int[], p_claimant rolecall.claim_terms, p_now timestamptz
)
returns table (line_id int, priority smallint, never_ahead boolean)
language sql
stable
as $$
    select setting.line_id, setting.priority, setting.never_ahead
    from rolecall.line_settings as setting
    where setting.line_id = any(p_line_ids)
        and (p_claimant.roles = '{}' or setting.role = any(p_claimant.roles))
        and setting.handler = any(p_claimant.handlers)
        and (not setting.paused or setting.paused_until <= p_now)
        and not (p_claimant.ahead and setting.never_ahead)
        and (setting.misfit_for = '{}' or not setting.misfit_for && coalesce(
            (select worker.intakes from rolecall.workers as worker where worker.id = p_claimant.worker_id),
            '{}'
        ))
$$;

-- Counts how many of the next p_limit tasks each of several lines of one priority has, in claim order
-- across the lines. Starts at this session's watermarks, like the walks.
-- returns: one row for each line that has any
create or replace function rolecall.share_out(
    p_line_ids int[], p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (line_id int, number int)
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select next.line_id, count(*)::int
    from (
        select line.id as line_id
        from unnest(p_line_ids) as line (id)
        cross join lateral rolecall.line_floor(line.id) as floor
        cross join lateral (
            select task.scheduled_for, task.id
            from rolecall.tasks as task
            where task.line_id = line.id and task.state = 'pending' and not task.parked
                and task.scheduled_for <= p_now
                and (task.scheduled_for, task.id) > (floor.scheduled_for, floor.id)
                and (task.expires_at <= p_now) is not true
                and task.id <> all(p_taken)
            order by task.scheduled_for, task.id
            limit p_limit
        ) as task
        order by task.scheduled_for, task.id
        limit p_limit
    ) as next
    group by next.line_id
$$;

-- Sets this session's watermark for those of the given lines that have none or an old one, so that
-- statements that read several lines start at the same positions.
create or replace function rolecall.renew_floors(p_line_ids int[], p_now timestamptz)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.look_below(line.id, p_now)
    from unnest(p_line_ids) as line (id)
    where (rolecall.line_floor(line.id)).look_below_at > clock_timestamp() is not true
$$;

-- Finds a line's first claimable task from the very start and makes the position before it this session's
-- watermark. An old snapshot may retain any number of dead rows there, so the next look is scheduled such
-- that looks take at most a twentieth of the time. The shorter of the last two durations counts, because
-- either may include waiting.
-- returns: the watermark
create or replace function rolecall.look_below(p_line_id int, p_now timestamptz)
returns rolecall.floor
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
        and task.scheduled_for <= p_now and (task.expires_at <= p_now) is not true
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

-- Returns where this session's last walk of a line stopped, and until when the next one may start there.
-- returns: the watermark; null if this session has not walked the line
-- search_path: not set, so that it is inlined into its callers
create or replace function rolecall.line_floor(p_line_id int)
returns rolecall.floor
language sql
volatile
as $$
    select nullif(current_setting('rolecall.floor_' || p_line_id, true), '')::rolecall.floor
$$;
