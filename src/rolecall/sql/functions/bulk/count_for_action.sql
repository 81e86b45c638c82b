-- Counts the tasks that an action (retry, cancel or delete) on all tasks that match a filter would change,
-- newest first, before a given id, at most 50,000 of them.
-- returns: one row per role, handler and error group, each with the id before which the next page begins
-- (null: there is none); at least one row
-- public: yes
create or replace function rolecall.count_for_action(p_action text, p_filter jsonb, p_before bigint)
returns table (role text, handler text, error_group bigint, number bigint, reached bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select line.role, line.handler, counted.error_group, coalesce(counted.number, 0), found.reached
    from rolecall.search_tasks(
        p_filter || jsonb_build_object('action', p_action), p_before, 50000
    ) as found
    left join lateral (
        select each.line_id, each.error_group, count(*) as number
        from unnest(found.lines, found.error_groups) as each (line_id, error_group)
        group by each.line_id, each.error_group
    ) as counted on true
    left join rolecall.lines as line on line.id = counted.line_id;
end
$$;
