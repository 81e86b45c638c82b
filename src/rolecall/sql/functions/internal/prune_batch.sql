-- Forgets some of one kind that is past its time, notes in its row how far it has come, and when to look again: at once where there is
-- more, in a minute where something is in use, else in an hour.
-- returns: one row: how many; whether there is more
-- raises: nothing
-- locks: the caller holds the kind's row; rows of the kind; for a dropped day, its partitioned table, until the commit
-- notifies: nothing
create or replace function rolecall.prune_batch(p_row rolecall.retention, p_now timestamptz, p_limit int)
returns table (number bigint, more boolean)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_oldest timestamptz := p_now - coalesce((select max(greatest(keep_completed, keep_failed)) from rolecall.roles), interval '30 days');
    v_place text;
    v_in_use boolean := false;
begin
    case p_row.kind
        when 'finished_tasks' then
            select * into number, v_place from rolecall.prune_finished(p_row.place, rolecall.held_chains(), p_now, p_limit);
        when 'task_partitions', 'event_partitions' then
            select * into number, v_place, v_in_use
            from rolecall.drop_day(
                case p_row.kind when 'task_partitions' then 'rolecall.finished_tasks' else 'rolecall.task_events' end::regclass,
                p_row.place, (v_oldest at time zone 'utc')::date, rolecall.held_chains(), p_now
            );
        when 'keys' then
            select * into number, v_place from rolecall.prune_keys(p_row.place, p_limit);
        when 'task_tokens' then
            select * into number, v_place from rolecall.prune_tokens(p_row.place, p_now, p_limit);
        when 'schedule_runs' then
            number := rolecall.prune_schedule_runs(p_now, p_limit);
        when 'history' then
            number := rolecall.prune_history(p_now);
        when 'api_keys', 'sessions', 'known_browsers', 'login_attempts' then
            number := rolecall.prune_access(p_row.kind, p_now, p_limit);
        else
            number := rolecall.prune_rows(p_row.kind, p_row.keep, v_oldest, p_now, p_limit);
    end case;
    more := v_place is not null or (number >= p_limit and p_row.kind not in ('keys', 'task_tokens'));
    update rolecall.retention as row
    set place = v_place,
        next_at = p_now + case when more then '0 s' when v_in_use then '1 min' else '1 hour' end::interval,
        in_use_since = case
            when v_in_use then coalesce(row.in_use_since, p_now)
            when number = 0 and v_place is not null then row.in_use_since
        end
    where row.kind = p_row.kind;
    return next;
end
$$;
