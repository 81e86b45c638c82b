-- Lists the lines that may have something to claim, stepping from one that has to the next: among thousands
-- of empty lines it costs what the others cost. Where that takes long, as where an old snapshot keeps dead
-- rows in the index, it lists all lines instead, for so long that it costs a twentieth of the time at most:
-- walks know this session's floors, and pass by what is dead. Of the last two times the shorter one counts,
-- as any may have had to wait.
-- returns: their ids
create or replace function rolecall.open_lines()
returns int[]
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    -- So few are walked as fast as they are listed.
    v_few constant int := 4;
    -- What a step takes, or some of them, and more than that.
    v_quick constant interval := '300 us';
    v_a_step constant interval := '30 us';
    v_began constant timestamptz := clock_timestamp();
    v_all_until constant timestamptz := nullif(current_setting('rolecall.all_lines_until', true), '');
    v_before constant interval := nullif(current_setting('rolecall.open_lines_took', true), '');
    v_took interval;
    v_ids int[];
begin
    if v_began < v_all_until
        or (select count(*) from (select from rolecall.lines limit v_few + 1) as line) <= v_few then
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
