-- Finishes claims as finish does, without waiting for other open transactions: reports that one of them
-- blocks are returned as busy and must be sent again, and the others are stored. The first try handles all
-- reports together, unless p_apart is set because some were busy before.
-- returns: one row for each report that was not simply accepted: busy (nothing of it is stored), already,
-- or why the task was lost
-- raises: as finish
-- locks: as finish; waits at most 0.1 s for each lock, and at most 0.5 s in total
-- notifies: as finish
-- public: yes
create or replace function rolecall.finish_free(
    p_worker_id bigint, p_reports jsonb, p_apart boolean default false
)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_own_worker(p_worker_id);
    perform rolecall.require_durability();
    if not p_apart then
        begin
            return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- Another transaction holds something that one of them needs: now try them separately.
            null;
        end;
    end if;
    return query
    select apart.task_id, apart.verdict
    from rolecall.finish_apart(
        p_worker_id, rolecall.children_together(p_reports), clock_timestamp() + interval '400 ms'
    ) as apart;
end
$$;

-- Finishes the claims that can be finished without waiting: all of them together, or each half separately,
-- until the blocked ones are found. Tasks of a sequence are finished in their order.
-- returns: one row for each report that was not simply accepted: busy, already, or why the task was lost
-- raises: as finish
-- locks: as finish, waiting only briefly
-- notifies: as finish
create or replace function rolecall.finish_apart(p_worker_id bigint, p_reports jsonb, p_until timestamptz)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '10ms'
as $$
declare
    v_halves jsonb[];
    v_in_order boolean;
    v_is_busy boolean := false;
begin
    begin
        return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
        return;
    exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
        null;
    end;
    if jsonb_array_length(p_reports) = 1
        or clock_timestamp() > p_until
        or rolecall.have_one_parent(p_reports) then
        return query select (report -> 'id')::bigint, 'busy' from jsonb_array_elements(p_reports) as report;
        return;
    end if;
    v_halves := rolecall.halves_by_place(p_reports);
    v_in_order := cardinality(v_halves) = 1;
    if v_in_order then
        v_halves := array(select rolecall.halves(p_reports));
    end if;
    for task_id, verdict in
        select apart.task_id, apart.verdict
        from rolecall.finish_apart(p_worker_id, v_halves[1], p_until) as apart
    loop
        v_is_busy := v_is_busy or verdict = 'busy';
        return next;
    end loop;
    if v_in_order and v_is_busy then
        return query select (report -> 'id')::bigint, 'busy' from jsonb_array_elements(v_halves[2]) as report;
    else
        return query
        select apart.task_id, apart.verdict
        from rolecall.finish_apart(p_worker_id, v_halves[2], p_until) as apart;
    end if;
end
$$;

-- Splits a list of reports into halves, keeping the tasks of one sequence together.
-- returns: two lists; a single one if all belong together
create or replace function rolecall.halves_by_place(p_reports jsonb)
returns jsonb[]
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with placed as (
        select report, n, min(n) over (
            partition by coalesce(task.key || ':' || abs(task.key_slot), '#' || n)
        ) as first
        from jsonb_array_elements(p_reports) with ordinality as item (report, n)
        left join lateral (
            select open.key, open.key_slot
            from rolecall.tasks as open
            where open.id = (report -> 'id')::bigint offset 0
        ) as task on true
    ),
    turned as (
        select placed.report, placed.n, dense_rank() over (order by placed.first) as turn from placed
    )
    select array(
        select jsonb_agg(turned.report order by turned.n)
        from turned
        group by turned.turn > (select max(last.turn) / 2 from turned as last)
        order by min(turned.turn)
    )
$$;
