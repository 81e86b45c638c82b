-- Forgets the runs of schedules that are older than thirty days, and all but the latest thousand of each.
-- returns: how many
-- raises: nothing
-- locks: schedule_runs rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.prune_schedule_runs(p_now timestamptz, p_limit int)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_gone bigint;
begin
    delete from rolecall.schedule_runs
    where id = any(array(
        select old.id
        from rolecall.schedules as schedule
        cross join lateral (
            select coalesce((
                select run.id from rolecall.schedule_runs as run
                where run.schedule_id = schedule.id order by run.id desc offset 1000 limit 1
            ), 0) as id
        ) as last_to_go
        join rolecall.schedule_runs as old on old.schedule_id = schedule.id
            and (old.id <= last_to_go.id or old.at < p_now - interval '30 days')
        limit p_limit
        for update of old skip locked
    ));
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
