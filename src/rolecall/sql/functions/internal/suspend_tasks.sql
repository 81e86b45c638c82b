-- Lets completed tasks wait for their children: those that their reports spawn, and those that stand already. The slot is given
-- back, the key is kept. One whose children all stood for others' goes on at once; one that is to be cancelled spawns nothing.
-- returns: one row: which were accepted, and the keys and endings of those that ended at once
-- raises: RC031, RC040 for what is no task; RC042 for children and a continuation in one report; RC043 for a
--         child that would wait for itself
-- locks: tasks rows, those that have children with the parents of what has ended; dedupe keys of children in their order
-- notifies: rolecall_wake, where an idle worker waits for a role
create or replace function rolecall.suspend_tasks(p_worker_id bigint, p_reports jsonb, p_endings rolecall.ending[])
returns table (ids bigint[], keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_report record;
    v_childless bigint[] := '{}';
begin
    ids := '{}';
    perform rolecall.hold_parents(p_worker_id, p_reports, p_endings);
    for v_report in
        select report.id, report.result, report.next, nullif(report.next -> 'children', 'null') as children, jsonb_build_object(
            'next', report.next - 'children', 'id', report.id, 'parent_id', task.parent_id, 'parent_fence', task.parent_fence,
            'depth', task.depth
        ) as others
        from (
            select * from jsonb_to_recordset(p_reports) as given (id bigint, fence int, outcome text, result jsonb, next jsonb)
            where given.outcome = 'completed'
            order by given.id
        ) as report
        cross join lateral (
            select owned.parent_id, owned.parent_fence, owned.depth
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
                and owned.cancel_requested_at is null
            for update
        ) as task
    loop
        if nullif(v_report.next -> 'continuation', 'null') is not null then
            perform rolecall.refuse('RC042', format('task %s has children: only its last step may continue the chain', v_report.id));
        end if;
        ids := ids || v_report.id;
        if v_report.next is not null then
            perform rolecall.store_next(jsonb_build_array(v_report.others));
        end if;
        if v_report.children is not null then
            perform rolecall.add_children(v_report.id, null, v_report.children, (v_report.next ->> 'serial')::boolean);
        end if;
        if not rolecall.start_waiting(v_report.id, v_report.result, (v_report.next ->> 'gathers')::boolean) then
            v_childless := v_childless || v_report.id;
        end if;
    end loop;
    select resumed.keys, resumed.endings into keys, endings from rolecall.resume_parents(v_childless) as resumed;
    return next;
end
$$;
