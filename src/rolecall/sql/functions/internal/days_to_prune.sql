-- Lists the partitions of finished tasks, after one of them in order, that may have tasks to be forgotten one by one: whose role no longer
-- wants to keep them, but not those that go with their whole day within another one. The counts tell which days have none, but for the
-- last ones, which are not counted yet.
-- returns: one row a partition, in order: its name; how long a role may keep tasks for them to be forgotten here, null where any may
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.days_to_prune(p_after text, p_now timestamptz)
returns table (name text, most interval)
language plpgsql
stable
set search_path = ''
as $$
declare
    v_shortest interval := (select min(least(keep_completed, keep_failed)) from rolecall.roles);
    v_longest interval := (select max(greatest(keep_completed, keep_failed)) from rolecall.roles);
    v_counted_until timestamptz := (select moment from rolecall.counted_until);
begin
    return query
    select part.name, part.most
    from (
        select old.name, day.ends_at, case when day.ends_at >= p_now - v_longest - interval '1 day' then v_longest - interval '1 day' end as most
        from rolecall.old_partitions('rolecall.finished_tasks', ((p_now - v_shortest) at time zone 'utc')::date + 1) as old (name)
        cross join lateral (select (to_date(right(old.name, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'utc' as ends_at) as day
        union all
        select 'finished_tasks_default', 'infinity', null where v_shortest is not null
    ) as part
    where part.name > coalesce(p_after, '') collate "C" and (
        part.ends_at > v_counted_until
        or exists (
            select from rolecall.finished_counts as counted
            join rolecall.lines as line on line.id = counted.line_id
            join rolecall.roles as role on role.name = line.role
            cross join lateral (
                select case counted.state when 'completed' then role.keep_completed else role.keep_failed end as keep
            ) as said
            where counted.day = to_date(right(part.name, 8), 'YYYYMMDD')
                and part.ends_at - interval '1 day' < p_now - said.keep and (said.keep > part.most) is not true
            group by counted.line_id, counted.state
            having sum(counted.number) > 0
        )
    )
    order by part.name collate "C";
end
$$;
