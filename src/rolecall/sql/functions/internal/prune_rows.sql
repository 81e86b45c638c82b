-- Forgets, of one kind, rows that are past their time: events without a day's partition, answers, deeds, workers that are long
-- gone, marks of idle ones.
-- returns: how many, at most p_limit
-- raises: nothing
-- locks: the rows, skipping locked ones where anybody else writes them
-- notifies: nothing
create or replace function rolecall.prune_rows(p_kind text, p_keep interval, p_oldest timestamptz, p_now timestamptz, p_limit int)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_gone bigint;
begin
    case p_kind
        when 'task_events' then
            -- Only the net is read row by row: events of days with a partition go with it.
            delete from rolecall.task_events_default
            where ctid = any(array(select old.ctid from rolecall.task_events_default as old where old.at < p_oldest limit p_limit));
        when 'requests' then
            delete from rolecall.requests
            where ctid = any(array(
                select old.ctid from rolecall.requests as old where old.answered_at < p_now - interval '1 day'
                order by old.answered_at limit p_limit for update skip locked
            ));
        when 'deeds' then
            delete from rolecall.deeds
            where id = any(array(
                select old.id from rolecall.deeds as old where old.at < p_now - p_keep order by old.at limit p_limit
            ));
        when 'workers' then
            delete from rolecall.workers
            where id = any(array(
                select old.id from rolecall.workers as old
                where coalesce(old.stopped_at, old.heartbeat_at) < p_now - interval '1 day'
                limit p_limit for update skip locked
            ));
        when 'idle_marks' then
            -- Of workers that died; the others take theirs away.
            delete from rolecall.idle_marks
            where ctid = any(array(
                select old.ctid from rolecall.idle_marks as old where old.until < p_now limit p_limit for update skip locked
            ));
    end case;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
