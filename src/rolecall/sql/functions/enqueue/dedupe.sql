-- Matches drafts with their existing tasks and applies their dedupe modes, one after the other, in the order
-- of the positions. Stores a draft if there is no existing task any more. Cancels an existing task that has
-- expired, because it will never run.
-- returns: one row: the batch's ids, completed with these; which of the tasks existed already; and the
-- needs of newly stored ones, as `link_needs` takes them
-- raises: RC031 unknown role, RC040 invalid task or payloads that cannot be merged; RC045 the dedupe_key
-- must be new, with the existing task's id as the detail; RC050 wrong isolation level, if a task with a key
-- is postponed or one has expired
-- locks: what `hold_tasks` locks, of tasks to change; dedupe keys, waiting for an uncommitted task with the
-- same one; as conclude, if a task has expired
-- notifies: rolecall_wake, if an idle worker waits for the role; as conclude, if a task has expired
create or replace function rolecall.meet_twins(
    p_tasks jsonb, p_places rolecall.place[], p_positions bigint[], p_ids bigint[]
)
returns table (ids bigint[], deduplicated bigint[], needy jsonb)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_now constant timestamptz := rolecall.clock();
    v_draft record;
    v_mode text;
    v_id bigint;
    v_is_new boolean;
    v_is_met boolean;
    v_got record;
begin
    ids := p_ids;
    deduplicated := '{}';
    -- All unclaimed existing tasks that will change are locked before the first change.
    perform rolecall.hold_tasks(array(
        select rolecall.find_twin(
            rolecall.full_dedupe_key(item.draft), item.draft -> 'dedupe', p_places[item.n]
        )
        from (select n, p_tasks -> (n - 1)::int as draft from unnest(p_positions) as n) as item
        where item.draft -> 'dedupe' ->> 'mode' in ('replace', 'merge')
    ));
    -- There may be many drafts that have only a dedupe_key: one statement finds their existing tasks.
    for v_draft in
        select item.n, item.draft, nullif(item.draft -> 'dedupe', 'null') as dedupe,
            rolecall.full_dedupe_key(item.draft) as dedupe_key, p_places[item.n] as place, (
                select task.id from rolecall.tasks as task
                where item.draft -> 'dedupe' is null
                    and task.dedupe_key = rolecall.full_dedupe_key(item.draft)
                    and task.dedupe_pending is not true
                    and rolecall.has_expired(task.state, task.expires_at, v_now) is not true
            ) as plain_twin
        from (
            select refused.n, refused.turn, p_tasks -> (refused.n - 1)::int as draft
            from unnest(p_positions) with ordinality as refused (n, turn)
        ) as item
        order by item.turn
    loop
        v_mode := coalesce(v_draft.dedupe ->> 'mode', 'keep');
        v_id := v_draft.plain_twin;
        v_is_met := v_id is not null;
        v_is_new := false;
        -- An iteration repeats only if another session has committed in between, or if the existing task
        -- had expired, so the loop ends.
        while not v_is_met loop
            v_id := rolecall.find_twin(v_draft.dedupe_key, v_draft.dedupe, v_draft.place);
            v_is_new := v_id is null;
            if v_is_new then
                select * into v_got
                from rolecall.insert_tasks(jsonb_build_array(v_draft.draft), array[v_draft.place], '{}');
                v_id := v_got.ids[1];
                needy := coalesce(needy || v_got.needy, needy, v_got.needy);
                v_is_met := v_got.refused is null;
            elsif v_mode in ('keep', 'error') and rolecall.expired_among(array[v_id]) is not null then
                perform rolecall.require_read_committed();
                perform rolecall.hold_tasks(array[v_id]);
                select * into v_got from rolecall.return_tasks(rolecall.expired_among(array[v_id]));
                perform rolecall.conclude(v_got.endings, v_got.keys);
            elsif v_mode = 'error' then
                raise exception using errcode = 'RC045', detail = v_id::text, message = format(
                    'task %s: task %s already has the dedupe_key %L', v_draft.n - 1, v_id,
                    v_draft.draft ->> 'dedupe_key'
                );
            elsif v_mode <> 'keep' then
                v_is_met := rolecall.refresh_twin(v_id, v_draft.draft, v_draft.place);
            elsif rolecall.dedupe_scope(v_draft.dedupe) <> 'pending' then
                v_is_met := true;
            else
                -- It cannot be claimed until this transaction ends, so that its handler sees what the
                -- transaction writes. A claim may have skipped it meanwhile.
                perform from rolecall.tasks as task where task.id = v_id and task.fence = 0 for share;
                v_is_met := found;
                perform rolecall.wake_lines(array(
                    select task.line_id from rolecall.tasks as task
                    where v_is_met and task.id = v_id and task.state = 'pending'
                        and task.scheduled_for <= rolecall.clock()
                ));
            end if;
        end loop;
        ids[v_draft.n] := v_id;
        if not v_is_new then
            deduplicated := deduplicated || v_id;
        end if;
    end loop;
    return next;
end
$$;

-- Updates an unclaimed task from a newer draft with its dedupe key: its due time and expiry, and its
-- payload and priority (mode merge: both payloads merged, and the higher priority). If its handler declares
-- a key, the key is recomputed, unless the task was given a different one.
-- returns: false if the task was claimed or finished in the meantime
-- raises: RC031 unknown role; RC040 payloads that cannot be merged, or become too large; RC050 wrong
-- isolation level, if a task with a key is postponed
-- locks: the task, which `meet_twins` has locked unless it is newer; its key
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.refresh_twin(p_id bigint, p_task jsonb, p_place rolecall.place)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_merges boolean := p_task -> 'dedupe' ->> 'mode' = 'merge';
    v_twin record;
    v_draft record;
    v_turn timestamptz;
    v_line_id int;
    v_key text;
    v_handler record;
    v_what text;
begin
    select task.payload, task.key, line.role, line.handler, line.priority::int, line.never_ahead,
        role.max_payload_bytes
    into v_twin
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    join rolecall.roles as role on role.name = line.role
    where task.id = p_id and task.fence = 0
    for update of task;
    if not found then
        return false;
    end if;
    select draft.payload, draft.due, draft.expires_at,
        coalesce(draft.priority, p_place.priority, 0) as priority
    into v_draft
    from rolecall.drafts_of(jsonb_build_array(p_task), v_now) as draft;
    v_turn := greatest(v_draft.due, v_now);
    if v_merges then
        v_draft.payload := rolecall.merge_payloads(
            v_twin.payload, v_draft.payload, p_task -> 'dedupe' -> 'merge'
        );
        v_draft.priority := greatest(v_draft.priority, v_twin.priority);
        if octet_length(v_draft.payload::text) > v_twin.max_payload_bytes then
            perform rolecall.refuse('RC040', format(
                'the merged payload of task %s has %s bytes, the role allows %s', p_id,
                octet_length(v_draft.payload::text), v_twin.max_payload_bytes
            ));
        end if;
    end if;
    v_line_id := rolecall.find_or_add_line(
        v_twin.role, v_twin.handler, v_draft.priority, v_twin.never_ahead, '{}'
    );
    v_key := v_twin.key;
    select key, signature into v_handler
    from rolecall.handlers as known
    where known.name = v_twin.handler and known.key is not null;
    if found then
        v_what := format('the key of %s', v_twin.handler);
        -- A task that was given a different key keeps it.
        if v_twin.key is null or v_twin.key is not distinct from rolecall.fill_template(
            v_handler.key, v_twin.payload, v_handler.signature, v_what
        ) then
            v_key := rolecall.fill_template(v_handler.key, v_draft.payload, v_handler.signature, v_what);
        end if;
    end if;
    update rolecall.tasks as task
    set payload = v_draft.payload, scheduled_for = v_turn, expires_at = v_draft.expires_at, parked = false,
        line_id = v_line_id, key = v_key
    where task.id = p_id;
    if v_turn <= v_now then
        perform rolecall.wake_lines(array[v_line_id]);
    end if;
    if v_twin.key is not null and (v_turn > v_now or v_key is distinct from v_twin.key) then
        -- The task may have been the next one of its key.
        perform rolecall.require_read_committed();
        perform rolecall.unpark_heads(array[v_twin.key]);
    end if;
    return true;
end
$$;

-- Merges the payloads of an existing task and a draft with a database function or field by field. Fields
-- without a rule are taken from the draft.
-- returns: the payload
-- raises: RC040 a field that its rule cannot merge, or a function that returned no object; whatever that
-- function raises
create or replace function rolecall.merge_payloads(p_old jsonb, p_new jsonb, p_rule jsonb)
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_merged jsonb;
    v_merger text;
begin
    if p_rule ? 'function' then
        v_merger := rolecall.find_merger(p_rule ->> 'function');
        perform rolecall.require_lendable((v_merger || '(jsonb, jsonb)')::regprocedure);
        execute format('select %s($1, $2)', v_merger) into v_merged using p_old, p_new;
        if jsonb_typeof(v_merged) is distinct from 'object' then
            perform rolecall.refuse(
                'RC040', format('%s did not return an object', p_rule ->> 'function')
            );
        end if;
        return v_merged;
    end if;
    select jsonb_object_agg(
        field.key, rolecall.merge_field(field.key, field.value, p_old -> field.key, p_new -> field.key)
    )
    into v_merged
    from jsonb_each_text(nullif(p_rule -> 'fields', 'null')) as field
    where p_old ? field.key or p_new ? field.key;
    return p_old || p_new || coalesce(v_merged, '{}');
end
$$;

-- Merges an old and a new value. If one of them is missing or null, returns the other.
-- returns: the value; a union keeps the order of its elements
-- raises: RC040 values that the rule cannot merge: union needs arrays, sum numbers, max and min two numbers
-- or two texts
create or replace function rolecall.merge_field(p_field text, p_rule text, p_old jsonb, p_new jsonb)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_types text := format('%s and %s', jsonb_typeof(p_old), jsonb_typeof(p_new));
begin
    if coalesce(p_old, 'null') = 'null' or coalesce(p_new, 'null') = 'null' then
        return coalesce(nullif(p_new, 'null'), p_old, p_new);
    elsif p_rule = 'union' and v_types = 'array and array' then
        return coalesce((
            select jsonb_agg(once.value order by once.n)
            from (
                select value, min(n) as n
                from jsonb_array_elements(p_old || p_new) with ordinality as item (value, n)
                group by value
            ) as once
        ), '[]');
    elsif p_rule = 'sum' and v_types = 'number and number' then
        return to_jsonb(p_old::numeric + p_new::numeric);
    elsif p_rule in ('max', 'min') and v_types = 'number and number' then
        return case when (p_new::numeric > p_old::numeric) = (p_rule = 'max') then p_new else p_old end;
    elsif p_rule in ('max', 'min') and v_types = 'string and string' then
        return case
            when (p_new #>> '{}' collate "C" > p_old #>> '{}' collate "C") = (p_rule = 'max') then p_new
            else p_old
        end;
    elsif p_rule in ('last', 'keep') then
        return case p_rule when 'last' then p_new else p_old end;
    end if;
    perform rolecall.refuse(
        'RC040', format('field %s cannot be merged: %s of %s', quote_literal(p_field), p_rule, v_types)
    );
end
$$;

-- Finds the newest existing task with a draft's dedupe_key. Claimed and finished tasks of two chains are
-- skipped: the one that the draft excludes, and that of the task whose completion enqueues the draft.
-- returns: the task's id, or null
create or replace function rolecall.find_twin(p_dedupe_key text, p_dedupe jsonb, p_place rolecall.place)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_scope text := rolecall.dedupe_scope(p_dedupe);
    v_except bigint := (p_dedupe ->> 'except_chain')::bigint;
    v_id bigint;
begin
    -- Not max(id), which would scan all other tasks from the newest id down.
    select (array_agg(task.id order by task.id desc))[1] into v_id
    from (
        select id, fence, chain_id
        from rolecall.tasks
        where dedupe_key = p_dedupe_key and dedupe_pending is not true
        union all
        select id, fence, chain_id from rolecall.tasks where dedupe_key = p_dedupe_key and dedupe_pending
    ) as task
    where task.fence = 0 or (v_scope <> 'pending' and task.chain_id is distinct from v_except);
    if v_id is null and v_scope = 'any' then
        v_id := rolecall.find_ended_twin(
            p_dedupe_key,
            coalesce(
                rolecall.clock() - make_interval(secs => (p_dedupe ->> 'window')::float8), '-infinity'
            ),
            array[
                v_except,
                (
                    select origin.chain_id
                    from rolecall.find_finished(array[p_place.origin_id]) as origin
                    limit 1
                )
            ]
        );
    end if;
    return v_id;
end
$$;

-- Finds the newest finished task with a draft's dedupe_key that was created within the draft's window and
-- does not belong to a chain that is skipped.
-- returns: the task's id, or null
create or replace function rolecall.find_ended_twin(
    p_dedupe_key text, p_since timestamptz, p_but_chains bigint[]
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- A task never finishes before it is created, so a plan for these values skips the partitions of earlier
-- days.
set plan_cache_mode = force_custom_plan
as $$
begin
    return (
        select task.id
        from rolecall.finished_tasks as task
        where task.dedupe_key = p_dedupe_key and task.created_at > p_since and task.finished_at > p_since
            and (task.chain_id = any(p_but_chains)) is not true
        order by task.created_at desc, task.id desc
        limit 1
    );
end
$$;

-- Returns which tasks count as existing for a draft: open tasks, only pending ones that were never claimed,
-- or any recent one.
-- returns: open, pending or any
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.dedupe_scope(p_dedupe jsonb)
returns text
language sql
immutable
as $$
    select coalesce(
        p_dedupe ->> 'scope', case
            when p_dedupe ->> 'mode' in ('replace', 'merge') then 'pending'
            else 'open'
        end
    )
$$;

-- Returns the stored form of a draft's dedupe_key, which is unique per handler.
-- returns: the key; null if the draft has none
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.full_dedupe_key(p_draft jsonb)
returns text
language sql
immutable
as $$
    select coalesce(p_draft ->> 'handler', p_draft ->> 'role') || '/' || (p_draft ->> 'dedupe_key')
$$;

-- Finds a database function that merges two payloads by its name, which includes the schema.
-- returns: its name, quoted if necessary; null if there is none
create or replace function rolecall.find_merger(p_name text)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select format('%I.%I', place.nspname, found.proname)
        from pg_catalog.pg_proc as found
        join pg_catalog.pg_namespace as place on place.oid = found.pronamespace
        where found.oid = to_regprocedure(p_name || '(jsonb,jsonb)') and found.prokind = 'f'
            and not found.proretset
            and found.prorettype = 'jsonb'::regtype
            and (rolecall.is_owners_session() or found.proowner = current_user::regrole)
    );
exception when invalid_name or syntax_error then
    -- Before Postgres 16, an invalid name raises an error instead of finding nothing.
    return null;
end
$$;
