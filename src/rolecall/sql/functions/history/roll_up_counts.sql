-- Adds to the counts of finished tasks what has finished since the last time, up to where nothing can finish
-- any more; at most to the end of a day, so that a call that has much to catch up with stays short.
-- returns: whether there is more to add
-- raises: RC050 wrong isolation level
-- locks: finished_tasks against being changed; then the row of counted_until, or nothing while another has it
-- public: yes
create or replace function rolecall.roll_up_counts(p_margin interval default '5 s')
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_settled timestamptz;
    v_from timestamptz;
    v_until timestamptz;
begin
    perform rolecall.require_read_committed();
    -- In the order of who drops a partition: first the table.
    lock table rolecall.finished_tasks in access share mode;
    select moment into v_from from rolecall.counted_until for update skip locked;
    if not found then
        return false;
    end if;
    v_settled := rolecall.settled_until(p_margin);
    v_until := least(v_settled, coalesce(
        date_trunc('day', nullif(v_from, '-infinity'), 'UTC') + interval '1 day',
        (
            select min(to_date(right(name, 8), 'YYYYMMDD'))
            from rolecall.old_partitions('rolecall.finished_tasks', 'infinity') as name
        )
            ::timestamp at time zone 'utc',
        v_settled
    ));
    -- However many processes ask, it is not done more often than it tells anything.
    if v_until = v_settled and v_until <= v_from + p_margin then
        return false;
    end if;
    with came as (
        select (finished_at at time zone 'utc')::date as day, line_id, state, count(*) as number
        from rolecall.finished_tasks
        where finished_at >= v_from and finished_at < v_until
        group by 1, 2, 3
    ),
    gone as (
        delete from rolecall.finished_counts
        where day in (
            select came.day
            from came
            union select less.day
            from rolecall.finished_counts as less
            where less.number < 0
        )
        returning day, line_id, state, number
    )
    insert into rolecall.finished_counts (day, line_id, state, number)
    select day, line_id, state, sum(number)
    from (select * from gone union all select * from came) as counted
    group by day, line_id, state
    having sum(number) <> 0;
    update rolecall.counted_until set moment = v_until;
    return v_until < v_settled;
end
$$;
