-- Drops one day of finished tasks, with their counts, but for some, which move into the default partition.
-- returns: nothing
-- raises: nothing
-- locks: the partitioned table; then the row of counted_until, shared
-- notifies: nothing
create or replace function rolecall.drop_partition(p_name text, p_kept bigint[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_day date := to_date(right(p_name, 8), 'YYYYMMDD');
    v_until timestamptz;
begin
    execute format('alter table rolecall.finished_tasks detach partition rolecall.%I', p_name);
    select moment into v_until from rolecall.counted_until for share;
    delete from rolecall.finished_counts where day = v_day;
    if p_kept <> '{}' then
        execute format('insert into rolecall.finished_tasks select * from rolecall.%I where id = any($1)', p_name) using p_kept;
        insert into rolecall.finished_counts (day, line_id, state, number)
        select v_day, line_id, state, count(*)
        from rolecall.finished_tasks_default
        where id = any(p_kept) and (finished_at at time zone 'utc')::date = v_day and finished_at < v_until
        group by line_id, state;
    end if;
    execute format('drop table rolecall.%I', p_name);
end
$$;
