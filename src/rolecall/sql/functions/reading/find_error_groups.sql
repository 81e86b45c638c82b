-- Finds error groups, those with the latest failures first, optionally after the last one of a page. The
-- filter's fields are ids, states, handler, text (in the handler or the error) and since: groups that were
-- opened by a failure at that time or later. A group must match all of them.
-- returns: one row per group, with its failures of the last 24 hours, hour by hour, the present one last
-- public: yes
create or replace function rolecall.find_error_groups(
    p_filter jsonb, p_after_time timestamptz default null, p_after_id bigint default null,
    p_limit int default 50
)
returns table (
    id bigint, handler text, type text, message text, frame text, state text, state_at timestamptz,
    opened_at timestamptz, first_at timestamptz, last_at timestamptz, failed bigint, retried bigint,
    sample_id bigint, first_release text, last_release text, hours int[]
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_ids constant bigint[] := array(select jsonb_array_elements_text(p_filter -> 'ids')::bigint);
    v_states constant text[] := array(select jsonb_array_elements_text(p_filter -> 'states'));
    v_text constant text := lower(p_filter ->> 'text');
    v_since constant timestamptz := p_filter ->> 'since';
    v_handler constant text := p_filter ->> 'handler';
    v_hour constant timestamptz := date_trunc('hour', rolecall.clock(), 'UTC');
begin
    return query
    select known.id, known.handler, known.type, known.message, known.frame, known.state, known.state_at,
        known.opened_at, known.first_at, known.last_at, known.failed, known.retried, known.sample_id,
        known.first_release, known.last_release,
        array(
            select coalesce(counted.failed + counted.retried, 0)
            from generate_series(v_hour - interval '23 hours', v_hour, '1 hour') as bin (hour)
            left join rolecall.error_hours as counted
                on counted.group_id = known.id and counted.hour = bin.hour
            order by bin.hour
        )
    from rolecall.error_groups as known
    where (p_filter -> 'ids' is null or known.id = any(v_ids))
        and (p_filter -> 'states' is null or known.state = any(v_states))
        and (v_handler is null or known.handler = v_handler)
        and (v_since is null or known.opened_at >= v_since)
        and (
            v_text is null
            or strpos(lower(concat_ws(
                ' ', known.handler, concat_ws(': ', known.type, nullif(known.message, '')), known.frame
            )), v_text) > 0
        )
        and (p_after_time is null or (known.last_at, known.id) < (p_after_time, p_after_id))
    order by known.last_at desc, known.id desc
    limit p_limit;
end
$$;

-- Reads what an error group's failures are now: how many of its tasks are failed and can be retried, and
-- the whole text of one of its latest errors.
-- returns: one row: the number, and the text; null if no failure of the group is stored any more
-- public: yes
create or replace function rolecall.failures_of_group(p_id bigint)
returns table (failed_tasks bigint, error text)
language plpgsql
stable
rows 1
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_group rolecall.error_groups;
begin
    failed_tasks := (select count(*) from rolecall.finished_tasks as task where task.error_group = p_id);
    error := (
        select task.error from rolecall.finished_tasks as task where task.error_group = p_id
        order by task.error_group desc, task.id desc limit 1
    );
    if error is null then
        select * into v_group from rolecall.error_groups as known where known.id = p_id;
        error := (
            select event.detail
            from rolecall.task_events as event
            where event.task_id = v_group.sample_id and event.detail is not null
                and (
                    select same.group_id
                    from rolecall.identify_error(v_group.handler, event.detail) as same
                ) = p_id
            order by event.at desc
            limit 1
        );
    end if;
    return next;
end
$$;
