-- Says from when on the history is told when it is made for the first time: since the first day of finished tasks that is kept.
-- returns: the moment, the beginning of an hour
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.begin_of_history(p_now timestamptz)
returns timestamptz
language sql
stable
set search_path = ''
as $$
    select rolecall.begin_of_bin(3600, greatest(p_now - (select max(kept) from rolecall.history_tiers()), least(p_now, (
        select min(to_date(right(name, 8), 'YYYYMMDD'))
        from rolecall.old_partitions('rolecall.finished_tasks', (p_now at time zone 'utc')::date) as name
    )::timestamp at time zone 'utc')))
$$;
