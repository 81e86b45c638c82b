-- Finishes claims: each report completes, fails, snoozes, blocks, cancels or (if it has not started)
-- returns its task, provided that the fence and worker still own it. Results, next tasks, unblocked tasks,
-- freed keys and events of one call commit together. Waits without a limit for transactions that hold what a
-- report needs; finish_free does not, and is better for batches.
-- returns: one row for each report that was not simply accepted: already, or why the task was lost
-- raises: RC031, RC040 an invalid next task; RC042 a report with an unknown outcome; RC043 circular needs;
-- RC044 siblings of a task whose parent is not open; RC045 the dedupe_key must be new; RC050 wrong
-- isolation level
-- locks: the latch of needs, if a report is blocked; tasks rows in id order; dedupe keys of next tasks in
-- their order; dependents and parents, level by level; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role; rolecall_cancel for tasks that end with
-- another one
-- public: yes
create or replace function rolecall.finish(p_worker_id bigint, p_reports jsonb)
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
    loop
        begin
            return query select * from rolecall.try_to_finish(p_worker_id, p_reports);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_longer();
        end;
    end loop;
end
$$;

-- Finishes claims as finish does, unless a lock wait timed out or a related task appeared in the meantime.
-- returns: one row for each report that was not simply accepted: already, or why the task was lost
-- raises: RC031, RC040 an invalid next task; RC042 a report with an unknown outcome; RC043 circular needs;
-- RC044, RC045, RC050 as finish; 55P03, RC090 roll back and try again
-- locks: the latch of needs, if a report is blocked; tasks rows in id order; dedupe keys of next tasks in
-- their order; dependents and parents, level by level; keys rows in key order
-- notifies: rolecall_wake, if an idle worker waits for the role; rolecall_cancel for tasks that end with
-- another one
create or replace function rolecall.try_to_finish(p_worker_id bigint, p_reports jsonb)
returns table (task_id bigint, verdict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_done record;
    v_stopped bigint[];
    v_other record;
    v_accepted bigint[];
    v_keys text[];
    v_endings rolecall.ending[];
begin
    if jsonb_path_exists(p_reports, '$[*] ? (@.outcome == "blocked")') then
        -- Otherwise two tasks that come to need each other at the same time would not detect the circle.
        perform from rolecall.latches where kind = 'needs' for update;
    end if;
    if jsonb_path_exists(
        p_reports, '$[*] ? (@.outcome != "completed" || exists (@.next.children) || @.next.gathers == true)'
    ) then
        perform rolecall.lock_claims(p_worker_id, p_reports);
    end if;
    select * into v_done from rolecall.complete_tasks(p_worker_id, p_reports, rolecall.clock());
    v_accepted := v_done.ids;
    v_keys := v_done.keys;
    v_endings := v_done.endings;
    -- Before the keys: a call that waits for a next task's dedupe key must not block others' keys.
    if v_done.next_tasks is not null then
        v_stopped := rolecall.store_next(v_done.next_tasks);
        if v_stopped <> '{}' then
            v_endings := array(
                select (
                    done.id, state, chain_id, parent_id, depth, on_failure, needed,
                    continued and done.id <> all(v_stopped), null
                )::rolecall.ending
                from unnest(v_endings) as done
            );
        end if;
    end if;
    if cardinality(v_accepted) < jsonb_array_length(p_reports) then
        perform rolecall.check_outcomes(p_reports);
        select * into v_other from rolecall.suspend_tasks(p_worker_id, p_reports, v_endings);
        v_accepted := v_accepted || v_other.ids;
        v_keys := v_keys || v_other.keys;
        v_endings := v_endings || v_other.endings;
        select * into v_other from rolecall.apply_losses(p_worker_id, p_reports);
        v_accepted := v_accepted || v_other.ids;
        v_keys := v_keys || v_other.keys;
        v_endings := v_endings || v_other.endings;
        if v_other.needy is not null then
            perform rolecall.link_needs(v_other.needy, null);
            if rolecall.collects_events() then
                perform rolecall.note_open(
                    'job_blocked',
                    array(select (needy -> 'id')::bigint from jsonb_array_elements(v_other.needy) as needy)
                );
            end if;
        end if;
    end if;
    if num_nonnulls(v_endings, v_keys) > 0 then
        perform rolecall.conclude(v_endings, v_keys);
    end if;
    if cardinality(v_accepted) < jsonb_array_length(p_reports) then
        return query
        select report.id, rolecall.why_lost(p_worker_id, report.id, report.fence)
        from jsonb_to_recordset(p_reports) as report (id bigint, fence int)
        where report.id <> all(v_accepted);
    end if;
end
$$;

-- Locks the tasks of reports that this worker still owns, in id order. Also locks, in the common lock
-- order, tasks that a failing one finishes as well, and, if one of them has open children, the parents of
-- the others: all of them before the first change.
-- raises: RC090 a task appeared below one of them in the meantime: roll back and try again
-- locks: tasks rows in id order, or what hold_tasks locks
create or replace function rolecall.lock_claims(p_worker_id bigint, p_reports jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_owned bigint[];
    v_parents bigint[];
    v_above bigint[];
    v_all bigint[];
begin
    with owned as materialized (
        select report.id, task.parent_id, task.serial, task.open_children is not null as has_children,
            outcome.is_bad as fails,
            outcome.is_bad and task.on_failure = 'cancel_siblings' and task.parent_id is not null as cancels
        from jsonb_to_recordset(p_reports) as report (id bigint, fence int, outcome text)
        cross join lateral (
            select owned.parent_id, owned.serial, owned.on_failure, owned.open_children,
                owned.cancel_requested_at
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence
                and (owned.worker_id = p_worker_id) is true
            offset 0
        ) as task
        cross join lateral (
            select report.outcome <> 'completed' or task.cancel_requested_at is not null as is_bad
        ) as outcome
    )
    select
        array_agg(owned.id),
        case
            when bool_or(owned.has_children)
                then array_agg(owned.parent_id) filter (where owned.parent_id is not null)
        end
            -- Further serial children need the last existing one.
            || array_agg(
                (select max(task.id) from rolecall.tasks as task where task.parent_id = owned.id)
            ) filter (where owned.serial),
        array_agg(case when owned.cancels then owned.parent_id else owned.id end)
            filter (where owned.cancels or (owned.has_children and owned.fails))
    into v_owned, v_parents, v_above
    from owned;
    if num_nonnulls(v_above, v_parents) = 0 then
        perform from rolecall.tasks as task where task.id = any(v_owned) order by task.id for update;
        return;
    end if;
    v_above := coalesce(v_above, '{}');
    v_all := v_owned || v_parents || array(
        select below.id
        from unnest(rolecall.with_open_descendants(v_above)) as below (id)
        where below.id <> all(v_above)
    );
    perform rolecall.hold_tasks(v_all);
    if exists (
        select from unnest(rolecall.with_open_descendants(v_above)) as below (id)
        where below.id <> all(v_above) and below.id <> all(v_all)
    ) then
        perform rolecall.refuse('RC090', 'a task appeared while this call waited for locks');
    end if;
end
$$;

-- Checks that every report has a known outcome, and that blocked ones have needs.
-- raises: RC042 unknown outcome, or a blocked report without needs; RC040 an invalid need
create or replace function rolecall.check_outcomes(p_reports jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_odd record;
begin
    select * into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text)
    where outcome is null
        or outcome not in ('completed', 'failed', 'snoozed', 'blocked', 'cancelled', 'returned', 'misfit')
    limit 1;
    if found then
        perform rolecall.refuse(
            'RC042', format('the report on task %s has the unknown outcome %L', v_odd.id, v_odd.outcome)
        );
    end if;
    select report.id, rolecall.needs_problem(report.needs) as problem into v_odd
    from jsonb_to_recordset(p_reports) as report (id bigint, outcome text, needs jsonb)
    where outcome = 'blocked'
        and (report.needs is null or report.needs = '[]' or rolecall.needs_problem(report.needs) is not null)
    limit 1;
    if found then
        perform rolecall.refuse(
            case when v_odd.problem is null then 'RC042' else 'RC040' end,
            format(
                'the report on task %s is blocked: %s', v_odd.id,
                coalesce(v_odd.problem, 'it names no needs')
            )
        );
    end if;
end
$$;

-- Makes completed tasks wait for their children: those that their reports spawn, and existing ones. A
-- waiting task gives back its slot and keeps its key's permit. It continues immediately if it has no open
-- child: because its first step spawned none and a gather step follows, or because existing tasks have the
-- dedupe keys of all its children. A task whose cancellation was requested spawns nothing. First locks the
-- tasks of reports that have open children, together with the parents of finished tasks, and with the open
-- tasks below those that will be cancelled: children before parents, the deepest first.
-- returns: one row: which were accepted, and the keys and endings of those that finished immediately
-- raises: RC042 children and a continuation in one report; and as add_children
-- locks: tasks rows, those that have children together with the parents of finished tasks; dedupe keys of
-- children in their order
-- notifies: rolecall_wake, if an idle worker waits for a role
create or replace function rolecall.suspend_tasks(
    p_worker_id bigint, p_reports jsonb, p_endings rolecall.ending[]
)
returns table (ids bigint[], keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_report record;
    v_running bigint[];
    v_cancelled bigint[];
    v_childless bigint[] := '{}';
begin
    ids := '{}';
    select array_agg(task.id), array_agg(task.id) filter (where task.is_cancelled) into v_running, v_cancelled
    from jsonb_to_recordset(p_reports) as report (id bigint, fence int)
    cross join lateral (
        select owned.id, owned.cancel_requested_at is not null as is_cancelled
        from rolecall.tasks as owned
        where owned.id = report.id and owned.fence = report.fence and (owned.worker_id = p_worker_id) is true
            and owned.open_children is not null
        offset 0
    ) as task;
    if v_running is not null then
        perform rolecall.hold_tasks(v_running || rolecall.with_open_descendants(v_cancelled) || array(
            select ending.parent_id from unnest(p_endings) as ending where ending.parent_id is not null
        ));
    end if;
    for v_report in
        select report.id, report.result, report.next,
            nullif(report.next -> 'children', 'null') as children,
            jsonb_build_object(
                'next', report.next - 'children', 'id', report.id, 'parent_id', task.parent_id,
                'parent_fence', task.parent_fence, 'depth', task.depth
            ) as others
        from (
            select *
            from jsonb_to_recordset(p_reports) as given (
                id bigint, fence int, outcome text, result jsonb, next jsonb
            )
            where given.outcome = 'completed'
            order by given.id
        ) as report
        cross join lateral (
            select owned.parent_id, owned.parent_fence, owned.depth
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence
                and (owned.worker_id = p_worker_id) is true
                and owned.cancel_requested_at is null
            for update
        ) as task
    loop
        if nullif(v_report.next -> 'continuation', 'null') is not null then
            perform rolecall.refuse(
                'RC042',
                format('task %s has another step: only its last step can continue the chain', v_report.id)
            );
        end if;
        ids := ids || v_report.id;
        if v_report.next is not null then
            perform rolecall.store_next(jsonb_build_array(v_report.others));
        end if;
        if v_report.children is not null then
            perform rolecall.add_children(
                v_report.id, null, v_report.children, (v_report.next ->> 'serial')::boolean
            );
        end if;
        if not rolecall.start_waiting(
            v_report.id, v_report.result, (v_report.next ->> 'gathers')::boolean
        ) then
            v_childless := v_childless || v_report.id;
        end if;
    end loop;
    select resumed.keys, resumed.endings
    into keys, endings
    from rolecall.resume_parents(v_childless) as resumed;
    return next;
end
$$;

-- Stores the result of a parent's step and makes the task wait if it has open children. It has started, so
-- it no longer expires. The step is recorded as an attempt if another step follows.
-- returns: whether it is waiting now
-- locks: the caller holds the task
create or replace function rolecall.start_waiting(p_id bigint, p_result jsonb, p_gathers boolean)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_task rolecall.tasks;
begin
    update rolecall.tasks as task
    set result = coalesce(p_result, task.result), gathers = p_gathers, expires_at = null,
        -- The start of a short step is not recorded separately.
        started_at = coalesce(task.started_at, task.claimed_at)
    where task.id = p_id
    returning task.* into v_task;
    if v_task.open_children is null and p_gathers is not true then
        return false;
    end if;
    insert into rolecall.task_events (task_id, at, kind, attempt, worker_id, claimed_at, started_at)
    values (
        p_id, rolecall.clock(), 'waiting', v_task.attempt, v_task.worker_id, v_task.claimed_at,
        v_task.started_at
    );
    if v_task.open_children is null then
        return false;
    end if;
    update rolecall.tasks as task
    set state = 'waiting', worker_id = null, claimed_at = null, lease_until = null, deadline_at = null
    where task.id = p_id;
    if rolecall.collects_events() then
        perform rolecall.note_open('job_waiting', array[p_id]);
    end if;
    return true;
end
$$;

-- Releases or finishes the tasks of failed, snoozed, blocked, cancelled, returned and misfit reports that
-- the fence and worker still own, and those of completed reports that have children and must be cancelled.
-- returns: one row: which were still owned; their keys and endings; the needs of blocked ones, as
-- `link_needs` takes them
-- locks: tasks rows in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.apply_losses(p_worker_id bigint, p_reports jsonb)
returns table (ids bigint[], keys text[], endings rolecall.ending[], needy jsonb)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_losses jsonb;
    v_returned record;
begin
    with owned as (
        select distinct on (report.id) report.*
        from (
            select * from jsonb_to_recordset(p_reports) as given (
                id bigint, fence int, outcome text, reason text, error text, after float8, at timestamptz,
                final boolean, needs jsonb, intake text
            )
            order by given.id
        ) as report
        cross join lateral (
            select owned.id
            from rolecall.tasks as owned
            where owned.id = report.id and owned.fence = report.fence
                and (owned.worker_id = p_worker_id) is true
            for update
        ) as task
        order by report.id
    )
    select jsonb_agg(jsonb_build_object(
        'id', id, 'error', error, 'after', coalesce(after, extract(epoch from at - rolecall.clock())),
        'final', final, 'reported', true, 'needs', needs, 'intake', intake,
        'reason',
        case outcome
            when 'failed' then coalesce(reason, 'error')
            when 'completed' then 'cancelled'
            else outcome
        end
    ))
    into v_losses
    from owned;
    select * into v_returned from rolecall.return_tasks(v_losses);
    ids := coalesce(v_returned.ids, '{}');
    keys := v_returned.keys;
    endings := v_returned.endings;
    select jsonb_agg(jsonb_build_object('id', gone.id, 'needs', loss -> 'needs')) into needy
    from unnest(v_returned.ids, v_returned.states) as gone (id, state)
    join jsonb_array_elements(v_losses) as loss on (loss -> 'id')::bigint = gone.id
    where gone.state = 'blocked';
    return next;
end
$$;

-- Stores the next tasks of reports: follow-ups, the chain's continuation, and siblings, which are added to
-- their parent's count.
-- returns: the tasks whose chain ends anyway, because the continuation has an existing task
-- raises: RC031, RC040 an invalid task; RC043 a task that would wait for itself; RC044 siblings of a task
-- whose parent is not open; RC045 the dedupe_key must be new; RC050 wrong isolation level, if a task with a
-- key is postponed
-- locks: dedupe keys in their order; needed tasks, children before parents; parents of siblings, the
-- deepest first, in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.store_next(p_next_tasks jsonb)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_drafts jsonb;
    v_places rolecall.place[];
    v_stored record;
    v_stopped bigint[] := '{}';
    v_siblings record;
begin
    with done as (
        select * from jsonb_to_recordset(p_next_tasks) as given (
            next jsonb, id bigint, chain_id bigint, chain_index int, parent_id bigint, parent_fence int,
            depth int, priority int, scheduled_for timestamptz, needed boolean, on_failure rolecall.child_rule
        )
    ),
    draft as (
        select follow_up.draft,
            (null, null, done.id, null, null, null, null, null, null, null, null)::rolecall.place as place,
            done.id, n
        from done
        cross join lateral jsonb_array_elements(
            nullif(next -> 'follow_ups', 'null')
        ) with ordinality as follow_up (draft, n)
        union all
        select done.next -> 'continuation', (
            chain_id, chain_index + 1, done.id, parent_id, parent_fence, depth, priority, null, needed,
            on_failure, null
        )::rolecall.place, done.id, 0
        from done
        where nullif(done.next -> 'continuation', 'null') is not null
    )
    select jsonb_agg(draft.draft order by draft.id, draft.n),
        array_agg(draft.place order by draft.id, draft.n)
    into v_drafts, v_places
    from draft;
    perform rolecall.refuse('RC040', format('chain %s has already been continued', link.chain_id))
    from rolecall.tasks as link
    where link.chain_index > 0
        and link.chain_id = any(
            array(select place.chain_id from unnest(v_places) as place where place.chain_index > 0)
        );
    if v_drafts is not null then
        select * into v_stored from rolecall.store_tasks(v_drafts, v_places);
        perform rolecall.refuse_circle(array[link.id], link.id)
        from unnest(v_stored.ids) with ordinality as link (id, n)
        where v_places[link.n].chain_index > 0 and rolecall.any_keyed(array[link.id]);
        v_stopped := array(
            select link.origin_id
            from unnest(v_places) with ordinality as link
            where link.chain_index > 0 and v_stored.ids[link.ordinality] = any(v_stored.deduplicated)
                and not exists (
                select
                from rolecall.tasks as task
                where task.id = v_stored.ids[link.ordinality] and task.chain_id = link.chain_id
            )
        );
        -- Only if needed: this reads every partition.
        if v_stopped <> '{}' then
            update rolecall.finished_tasks as task set continued = null where task.id = any(v_stopped);
        end if;
    end if;
    for v_siblings in
        select done.parent_id, done.parent_fence, done.next -> 'siblings' as drafts
        from jsonb_to_recordset(p_next_tasks) as done (
            next jsonb, id bigint, parent_id bigint, parent_fence int, depth int
        )
        where jsonb_array_length(nullif(done.next -> 'siblings', 'null')) > 0
        order by done.depth desc, done.parent_id, done.id
    loop
        perform rolecall.hold_needed(v_siblings.drafts, v_siblings.parent_id);
        perform from rolecall.tasks as task where task.id = v_siblings.parent_id for update;
        perform rolecall.add_children(v_siblings.parent_id, v_siblings.parent_fence, v_siblings.drafts, null);
    end loop;
    return v_stopped;
end
$$;
