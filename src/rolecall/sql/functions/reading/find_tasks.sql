-- Finds tasks, open and finished, newest first, optionally before a given id. The filter's fields are those
-- of rolecall.task_filter; a task must match all of them. Role and handler may be several names, separated
-- by commas. Ids, chain, parent, key, error group, failed, cancelled, blocked, waiting and hanging are found
-- by an index. For other filters, 50,000 tasks are examined (5,000 for a text, error or payload): a page may
-- have fewer tasks than p_limit although more follow. Payloads of handlers that redact parts are not
-- searched, and a text is not searched in payloads over 8 kB. `payload` is a JSON object that the payload
-- must contain.
-- returns: one row: at most p_limit ids, and the id before which the next page begins; null if there is
-- none
-- public: yes
create or replace function rolecall.find_tasks(
    p_filter jsonb, p_before bigint default null, p_limit int default 50
)
returns table (ids bigint[], reached bigint)
language sql
volatile
rows 1
set search_path = pg_catalog, pg_temp
as $$
    select found.ids, found.reached from rolecall.search_tasks(p_filter, p_before, p_limit) as found
$$;

-- Finds tasks as find_tasks does. With an action (retry, cancel or delete), finds only tasks that it could
-- change.
-- returns: one row: at most p_limit ids with their lines and error groups, and the id before which the next
-- page begins; null if there is none
create or replace function rolecall.search_tasks(p_filter jsonb, p_before bigint, p_limit int)
returns table (ids bigint[], lines int[], error_groups bigint[], reached bigint)
language plpgsql
volatile
rows 1
set search_path = pg_catalog, pg_temp
-- A plan for the given values omits absent filters and irrelevant partitions.
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
as $$
declare
    v rolecall.task_filter := jsonb_populate_record(null::rolecall.task_filter, p_filter);
    v_most int := case when num_nonnulls(v.text, v.error, v.payload) = 0 then 50000 else 5000 end;
    v_text text := lower(v.text);
    v_lines int[] := rolecall.lines_of(v.role, v.handler);
    v_worded int[] := array(
        select line.id from rolecall.lines as line where strpos(lower(line.handler), v_text) > 0
    );
    -- Searching in redacted payloads would reveal them.
    v_hiding int[] := array(
        select line.id
        from rolecall.lines as line
        join rolecall.handlers as handler on handler.name = line.handler
        where num_nonnulls(v_text, v.payload) > 0
            and concat(handler.signature, handler.hiding) like '%"writeOnly": true%'
    );
    -- The state by which an index finds tasks: few have one of these.
    v_few rolecall.task_state := case
        when v.state in ('blocked', 'waiting', 'running', 'failed', 'cancelled') then v.state
        when v.state in ('claimed', 'stale', 'hanging') then 'running'
    end;
    v_finished boolean := v.action is distinct from 'cancel'
        and (v.state is null or v.state in ('completed', 'failed', 'cancelled'));
    v_open boolean := v.action is distinct from 'retry' and v.finished_from is null
        and v.finished_to is null and v.error_group is null
        and (v.state is null or v.state not in ('completed', 'failed', 'cancelled'));
    -- Whole days, so that no task within a day is silently skipped.
    v_from timestamptz := coalesce(
        date_trunc('day', greatest(v.created_from, v.finished_from), 'UTC'), '-infinity'
    );
    v_to timestamptz := coalesce(date_trunc('day', v.finished_to, 'UTC') + interval '1 day', 'infinity');
    v_ids bigint[] := coalesce(
        v.ids, case when v.chain_id > 0 then array(select id from rolecall.tasks_of_chain(v.chain_id)) end
    );
    v_hanging bigint[] := case
        when v.state = 'hanging' then array(select hanging.id from rolecall.hanging_tasks() as hanging)
    end;
    v_keyed bigint[] := case when v.key <> '' then rolecall.open_tasks_with_key(v.key) end;
    v_span record := rolecall.id_span(v.created_from, v.created_to, p_before);
begin
    with known as (
        select true as open, id, line_id, worker_id, chain_id, parent_id, state,
            rolecall.shown_state(state, key_slot, started_at) as shown, created_at,
            null::timestamptz as finished_at, parked, scheduled_for, attempt, lease_until, started_at, key,
            dedupe_key, error, payload, null::bigint as error_group
        from rolecall.tasks
        union all
        select false, id, line_id, worker_id, chain_id, parent_id, state, state, created_at, finished_at,
            false, scheduled_for, attempt, null, started_at, key, dedupe_key, error, payload, error_group
        from rolecall.finished_tasks
    ),
    -- Filters that an index supports. The conditions are outside of the union, because inside they would
    -- prevent the merge by index order.
    seen as (
        select *
        from known
        where id >= v_span.low and id < v_span.high
            and (v_ids is null or id = any(v_ids))
            and (v_hanging is null or (open and id = any(v_hanging)))
            and (
                (open and v_open)
                or (not open and v_finished and finished_at >= v_from and finished_at < v_to)
            )
            and (v.key is null or (open and id = any(v_keyed)) or (not open and key = v.key))
            and (v.parent_id is null or parent_id = v.parent_id)
            and (v_few is null or state = v_few)
            and (v.action is distinct from 'retry' or state in ('failed', 'cancelled'))
            and (v.error_group is null or error_group = v.error_group)
        order by id desc
        limit v_most
    ),
    -- Filters without an index, checked for each task.
    judged as (
        select id, line_id, error_group, row_number() over (order by id desc) as n, coalesce(
            (v_lines is null or line_id = any(v_lines))
            and (v.worker_id is null or worker_id = v.worker_id)
            and (v.chain_id is null or chain_id = v.chain_id)
            and (v.roots is not true or parent_id is null)
            and (v.created_from is null or created_at >= v.created_from)
            and (v.created_to is null or created_at < v.created_to)
            and (v.finished_from is null or finished_at >= v.finished_from)
            and (v.finished_to is null or finished_at < v.finished_to)
            and (
                v.state is null
                or v.state = shown::text
                or v_hanging is not null
                or v.state = rolecall.status_of(
                    shown, parked, scheduled_for, attempt, lease_until, started_at
                )
            )
            and (v.error is null or strpos(lower(error), lower(v.error)) > 0)
            and (v.payload is null or (line_id <> all(v_hiding) and payload @> v.payload))
            and (
                v.text is null
                or line_id = any(v_worded)
                or strpos(
                    lower(concat_ws(
                        ' ', key, dedupe_key, error,
                        case when pg_column_size(payload) <= 8192 and line_id <> all(v_hiding)
                            then payload::text end
                    )),
                    v_text
                ) > 0
            ),
            false
        ) as fits
        from seen
    ),
    page as (
        select *
        from judged
        where fits or n = v_most
        order by id desc
        limit p_limit + 1
    )
    select coalesce(array_agg(page.id order by page.id desc) filter (where page.fits), '{}'),
        array_agg(page.line_id order by page.id desc) filter (where page.fits),
        array_agg(page.error_group order by page.id desc) filter (where page.fits),
        min(page.id) filter (where page.n = v_most)
    into ids, lines, error_groups, reached
    from page;
    reached := coalesce(case when cardinality(ids) > p_limit then ids[p_limit] end, reached);
    ids := ids[:p_limit];
    lines := lines[:p_limit];
    error_groups := error_groups[:p_limit];
    return next;
end
$$;

-- Lists the open tasks with a key, in any state: each kind has its own index.
-- returns: their ids
create or replace function rolecall.open_tasks_with_key(p_key text)
returns bigint[]
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select task.id from rolecall.tasks as task where task.key = p_key and task.state = 'pending'
        union
        select task.id from rolecall.tasks as task where task.key = p_key and task.key_slot is not null
        union
        select task.id from rolecall.tasks as task where task.key = p_key and task.state = 'blocked'
    )
$$;

-- Converts a range of creation times into a range of ids by binary search. Ids are assigned in the order of
-- creation, except by calls that wait for a lock in between, for which the range is extended by a minute at
-- both ends.
-- returns: one row: no task created in the range has an id below the first or from the second on
create or replace function rolecall.id_span(p_from timestamptz, p_to timestamptz, p_before bigint)
returns table (low bigint, high bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_last bigint;
begin
    low := 0;
    high := coalesce(p_before, 9223372036854775807);
    if p_from is null and p_to is null then
        return next;
        return;
    end if;
    v_last := 1 + greatest(
        (select max(task.id) from rolecall.tasks as task),
        (select max(task.id) from rolecall.finished_tasks as task), 0
    );
    if p_from is not null then
        low := rolecall.first_id_since(p_from - interval '1 minute', v_last);
    end if;
    if p_to is not null then
        high := least(high, rolecall.first_id_since(p_to + interval '1 minute', v_last));
    end if;
    return next;
end
$$;

-- Finds approximately the first id of the tasks created since a time, by binary search.
-- returns: the first id whose task was created at that time or later; p_last if there is none
create or replace function rolecall.first_id_since(p_moment timestamptz, p_last bigint)
returns bigint
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
    v_low bigint := 0;
    v_high bigint := p_last;
    v_middle bigint;
    v_next record;
begin
    while v_low < v_high loop
        v_middle := (v_low + v_high) / 2;
        select task.id, task.created_at into v_next
        from (
            select open.id, open.created_at from rolecall.tasks as open
            union all
            select finished.id, finished.created_at from rolecall.finished_tasks as finished
        ) as task
        where task.id >= v_middle
        order by task.id
        limit 1;
        if v_next.created_at < p_moment then
            v_low := v_next.id + 1;
        else
            v_high := v_middle;
        end if;
    end loop;
    return v_low;
end
$$;

-- Lists the lines of roles, of handlers, or of both; several names are separated by commas.
-- returns: their ids; null if neither is given
create or replace function rolecall.lines_of(p_role text, p_handler text)
returns int[]
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select case when num_nonnulls(p_role, p_handler) > 0 then array(
        select line.id from rolecall.lines as line
        where (p_role is null or line.role = any(string_to_array(p_role, ',')))
            and (p_handler is null or line.handler = any(string_to_array(p_handler, ',')))
    ) end
$$;
