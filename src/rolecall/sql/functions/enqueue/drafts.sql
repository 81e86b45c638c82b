-- Parses a batch of drafts, resolves their roles, handlers and settings, and rejects invalid ones.
-- returns: one row per task, numbered by its position in the input
-- raises: RC031 unknown role, RC040 invalid task
create or replace function rolecall.drafts_of(p_tasks jsonb, p_now timestamptz)
returns table (
    n bigint, role text, handler text, priority int, due timestamptz, key text, dedupe_key text,
    max_attempts int,
    payload jsonb, retry jsonb, timeout interval, on_failure rolecall.child_rule, needs jsonb, dedupe jsonb,
    one_root boolean, trace_context text, expires_at timestamptz
)
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select
        item.n, kind.role, kind.handler, item.priority, kind.due,
        item.key, kind.handler || '/' || item.dedupe_key, kind.max_attempts,
        coalesce(item.payload, '{}'), item.retry, make_interval(secs => item.timeout),
        item.on_failure::rolecall.child_rule, nullif(item.needs, '[]'), nullif(item.dedupe, 'null'),
        kind.one_root, item.trace_context,
        rolecall.expiry_of(item.expires_at, item.expires, kind.due, p_now)
    from rows from (jsonb_to_recordset(p_tasks) as (
        role text, handler text, payload jsonb, priority int, scheduled_for timestamptz, after float8,
        key text, dedupe_key text, max_attempts int, retry jsonb, timeout float8, on_failure text,
        needs jsonb, dedupe jsonb, trace_context text, expires float8, expires_at timestamptz
    )) with ordinality as item (
        role, handler, payload, priority, scheduled_for, after, key, dedupe_key, max_attempts, retry, timeout,
        on_failure, needs, dedupe, trace_context, expires, expires_at, n
    )
    cross join lateral (
        select found.*, rolecall.due_at(item.scheduled_for, item.after, p_now) as due
        from rolecall.kind_of(item.role, item.handler, item.max_attempts) as found
        -- Looks each up by its name: there may be thousands of handlers and roles, but a batch names few.
        offset 0
    ) as kind
    cross join lateral (
        select coalesce(
            rolecall.task_problem(
                item.payload, kind.max_payload_bytes, item.priority, kind.due, p_now,
                item.key, item.dedupe_key, item.max_attempts, item.retry, item.scheduled_for, item.after,
                item.trace_context
            ),
            rolecall.edge_problem(
                item.timeout, item.on_failure, item.needs, item.expires_at, item.expires, kind.due, p_now
            ),
            case when item.dedupe <> 'null' then rolecall.dedupe_problem(item.dedupe, item.dedupe_key) end
        ) as text
    ) as problem
    where case when kind.known is null or problem.text is not null
        then rolecall.refuse_draft(item.n, kind.role, kind.known, problem.text) else true end
$$;

-- Rejects a draft, naming its position in the batch: because of an unknown role, otherwise because of its
-- problem. The hint names a handler that has the name of the unknown role.
-- returns: never
-- raises: RC031 unknown role, RC040 invalid task
create or replace function rolecall.refuse_draft(p_n bigint, p_role text, p_known text, p_problem text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_known is not null then
        raise exception using errcode = 'RC040', message = format('task %s: %s', p_n - 1, p_problem),
            hint = 'docs/guides/psql.md lists the fields of a task and their limits.';
    end if;
    raise exception using errcode = 'RC031',
        message = format(
            'task %s: unknown role %s', p_n - 1,
            coalesce(quote_literal(p_role), '(neither role nor handler given)')
        ),
        hint = coalesce(
            (
                select format(
                    'There is a handler of this name: pass role %L and handler %L.',
                    handler.role, handler.name
                )
                from rolecall.handlers as handler
                where handler.name = p_role
            ),
            'A worker declares the roles of its app when it starts; rolecall.declare does so in SQL.'
        );
end
$$;

-- Resolves the role and handler of a draft and returns their settings.
-- returns: one row; `known` is null if the role does not exist; `keys` is whether the handler declares a
-- key, a dedupe key or an expiry
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.kind_of(p_role text, p_handler text, p_max_attempts int)
returns table (
    role text, handler text, max_attempts int, max_payload_bytes int, one_root boolean, known text,
    keys boolean
)
language sql
stable
as $$
    select
        coalesce(p_role, handler.role, named.handler), named.handler,
        nullif(coalesce(p_max_attempts, handler.max_attempts, role.max_attempts, 0), 0),
        role.max_payload_bytes, role.one_root, role.name,
        handler.key is not null or handler.dedupe_key is not null or handler.expires is not null
    from (values (coalesce(p_handler, p_role))) as named (handler)
    left join rolecall.handlers as handler on handler.name = named.handler
    left join rolecall.roles as role on role.name = coalesce(p_role, handler.role, named.handler)
$$;

-- Returns when a draft's task is due: at a given time, after a number of seconds, or now.
-- returns: the time, which may be in the past
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.due_at(p_moment timestamptz, p_after float8, p_now timestamptz)
returns timestamptz
language sql
stable
as $$
    select coalesce(p_moment, p_now + make_interval(secs => least(greatest(p_after, 0), 4e9)))
$$;

-- Returns the expiry of a draft's task: a given time, a number of seconds after it is due, or none.
-- returns: the time, which may be in the past; null for none
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.expiry_of(
    p_moment timestamptz, p_seconds float8, p_due timestamptz, p_now timestamptz
)
returns timestamptz
language sql
stable
as $$
    select coalesce(p_moment, greatest(p_due, p_now) + make_interval(secs => p_seconds))
$$;

-- Validates the basic fields of a draft, its due time and its trace context.
-- returns: a sentence that describes the problem, or null
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.task_problem(
    p_payload jsonb, p_max_payload_bytes int, p_priority int, p_due timestamptz, p_now timestamptz,
    p_key text, p_dedupe_key text, p_max_attempts int, p_retry jsonb, p_moment timestamptz, p_after float8,
    p_trace_context text
)
returns text
language sql
stable
as $$
    select case
        when jsonb_typeof(p_payload) <> 'object'
            then format('the payload is not an object but %s', jsonb_typeof(p_payload))
        when pg_column_size(p_payload) > p_max_payload_bytes / 64
            and octet_length(p_payload::text) > p_max_payload_bytes
            then format(
                'the payload has %s bytes, the role allows %s', octet_length(p_payload::text),
                p_max_payload_bytes
            )
        when p_priority not between -100 and 100
            then format('priority %s is not between -100 and 100', p_priority)
        when p_due > p_now + interval '100 years' or p_due = '-infinity'
            then format('scheduled_for %s is not within the next hundred years', p_due)
        when length(p_key) not between 1 and 200
            then format('the key has %s characters, allowed are 1 to 200', length(p_key))
        when length(p_dedupe_key) not between 1 and 200
            then format('the dedupe_key has %s characters, allowed are 1 to 200', length(p_dedupe_key))
        when p_max_attempts < 0
            then format('max_attempts must be positive, or 0 for unlimited, not %s', p_max_attempts)
        when p_retry is not null and not rolecall.is_retry_policy(p_retry)
            then format('%s is not a retry policy', p_retry)
        when num_nonnulls(p_moment, p_after) = 2
            then 'scheduled_for and after exclude each other: pass a time or a delay'
        when length(p_trace_context) > 1000
            then format('the trace_context has %s characters, allowed are 1000', length(p_trace_context))
    end
$$;

-- Validates a draft's timeout, its relations to other tasks, and its expiry. An expiry in the past is
-- allowed, so that validation does not depend on how long the draft was in transit.
-- returns: a sentence that describes the problem, or null
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.edge_problem(
    p_timeout float8, p_on_failure text, p_needs jsonb, p_expires_at timestamptz, p_expires float8,
    p_due timestamptz, p_now timestamptz
)
returns text
language sql
stable
as $$
    select case
        when p_timeout not between 0.001 and 4e9
            then format('the timeout is %s s, allowed are 0.001 to 4e9', p_timeout)
        when p_on_failure not in ('fail_parent', 'ignore', 'cancel_siblings')
            then format('on_failure must be fail_parent, ignore or cancel_siblings, not %L', p_on_failure)
        when num_nonnulls(p_expires_at, p_expires) = 2
            then 'expires_at and expires exclude each other: pass a time or a duration'
        when p_expires not between 0.001 and 4e9
            then format('expires is %s s, allowed are 0.001 to 4e9', p_expires)
        when p_expires_at > p_now + interval '100 years' or p_expires_at = '-infinity'
            then format('expires_at %s is not within the next hundred years', p_expires_at)
        when p_expires_at <= p_due and p_due > p_now
            then format('it expires at %s, before it is due at %s', p_expires_at, p_due)
        when p_needs is not null then rolecall.needs_problem(p_needs)
    end
$$;

-- Validates a draft's dedupe options.
-- returns: a sentence that describes the problem, or null
create or replace function rolecall.dedupe_problem(p_dedupe jsonb, p_dedupe_key text)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_dedupe_key is null then 'dedupe requires a dedupe_key'
        when jsonb_typeof(p_dedupe) <> 'object' then format(
            'dedupe must be an object, not %s', jsonb_typeof(p_dedupe)
        )
        when p_dedupe - array['mode', 'scope', 'window', 'merge', 'except_chain'] <> '{}'
            then format('dedupe has the fields mode, scope, window, merge and except_chain, not %s', (
                select string_agg(key, ', ')
                from jsonb_object_keys(
                    p_dedupe - array['mode', 'scope', 'window', 'merge', 'except_chain']
                ) as key
            ))
        when p_dedupe ->> 'mode' not in ('keep', 'replace', 'merge', 'error')
            then format('the dedupe mode must be keep, replace, merge or error, got %L', p_dedupe ->> 'mode')
        when p_dedupe ->> 'scope' not in ('pending', 'open', 'any')
            then format('the dedupe scope must be pending, open or any, got %L', p_dedupe ->> 'scope')
        when p_dedupe ->> 'mode' in ('replace', 'merge') and p_dedupe ->> 'scope' <> 'pending'
            then format(
                'the mode %s changes only unclaimed tasks: its scope must be pending', p_dedupe ->> 'mode'
            )
        when p_dedupe ->> 'window' is not null and coalesce(p_dedupe ->> 'scope', '') <> 'any'
            then 'only the scope any can have a window'
        when jsonb_typeof(p_dedupe -> 'window') not in ('number', 'null')
            or (p_dedupe ->> 'window')::float8 not between 0.001 and 4e9
            then format('the dedupe window must be 0.001 to 4e9 s, got %s s', p_dedupe ->> 'window')
        when p_dedupe ->> 'except_chain' !~ '^[0-9]{1,18}$'
            then format('except_chain must be the id of a chain, not %L', p_dedupe ->> 'except_chain')
        when p_dedupe ->> 'merge' is not null and coalesce(p_dedupe ->> 'mode', '') <> 'merge'
            then 'only the mode merge can have a merge rule'
        when p_dedupe ->> 'merge' is null then null
        when jsonb_typeof(p_dedupe -> 'merge') <> 'object'
            or (select count(*) from jsonb_object_keys(p_dedupe -> 'merge')) <> 1
            or p_dedupe -> 'merge' <> '{"kind": "json"}'
            and not p_dedupe -> 'merge' ?| array['fields', 'function']
            then format(
                'the merge rule must be {"kind": "json"}, {"fields": ...} or {"function": ...}, not %s',
                p_dedupe -> 'merge'
            )
        when jsonb_typeof(p_dedupe #> '{merge,fields}') <> 'object'
            then format(
                'the fields of a merge rule must be an object, not %s',
                jsonb_typeof(p_dedupe #> '{merge,fields}')
            )
        when p_dedupe -> 'merge' ? 'fields' then (
            select format(
                'the merge rule of field %s must be union, sum, max, min, last or keep, got %s',
                quote_literal(field.key), field.value
            )
            from jsonb_each(p_dedupe #> '{merge,fields}') as field
            where field.value not in ('"union"', '"sum"', '"max"', '"min"', '"last"', '"keep"')
            limit 1
        )
        when p_dedupe -> 'merge' ? 'function'
            and rolecall.find_merger(p_dedupe #>> '{merge,function}') is null
            then format(
                'there is no function %s(jsonb, jsonb) that returns jsonb; include its schema in the name',
                p_dedupe #>> '{merge,function}'
            )
    end
$$;

-- Validates a task's needs: each is an id, or an object with one of task, chain and item.
-- returns: a sentence that describes the problem, or null
create or replace function rolecall.needs_problem(p_needs jsonb)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when jsonb_typeof(p_needs) <> 'array' then format(
            'needs must be an array, not %s', jsonb_typeof(p_needs)
        )
        when jsonb_array_length(p_needs) > 10000 then 'a task can have at most 10000 needs'
        else (
            select format(
                '%s is not a need: expected a task''s id, or an object with task, chain or item', need
            )
            from jsonb_array_elements(p_needs) as need
            where case jsonb_typeof(need)
                when 'number' then need::text !~ '^[0-9]{1,18}$'
                when 'object' then (
                    select count(*) <> 1 or not bool_and(value ~ '^[0-9]{1,18}$') is true
                    from jsonb_each_text(need) as given where given.key in ('task', 'chain', 'item')
                ) or need ->> 'on_failure' not in ('fail', 'ignore')
                else true
            end
            limit 1
        )
    end
$$;

-- Adds the key, dedupe_key and expiry that their handlers declare to drafts without them. All ways of
-- enqueuing pass through here, so that mutual exclusion does not depend on the release of the caller.
-- returns: the batch, with these fields
-- raises: RC040 no key can be made of the payload
create or replace function rolecall.with_declared_keys(p_tasks jsonb)
returns jsonb
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(
        case
            when handler.name is null then item.draft
            else item.draft || jsonb_strip_nulls(jsonb_build_object(
                'key', coalesce(item.draft ->> 'key', rolecall.fill_template(
                    handler.key, item.draft -> 'payload', handler.signature,
                    format('task %s: the key of %s', item.n - 1, handler.name)
                )),
                'dedupe_key', coalesce(item.draft ->> 'dedupe_key', rolecall.fill_template(
                    handler.dedupe_key, item.draft -> 'payload', handler.signature,
                    format('task %s: the dedupe_key of %s', item.n - 1, handler.name)
                )),
                'expires', case
                    when num_nonnulls(item.draft ->> 'expires', item.draft ->> 'expires_at') = 0
                        then extract(epoch from handler.expires)
                end
            ))
        end
        order by item.n
    ), '[]')
    from jsonb_array_elements(p_tasks) with ordinality as item (draft, n)
    left join lateral (
        select *
        from rolecall.handlers as known
        where known.name = coalesce(item.draft ->> 'handler', item.draft ->> 'role')
            and (known.key is not null or known.dedupe_key is not null or known.expires is not null)
        offset 0
    ) as handler on true
$$;

-- Fills fields of a payload into a template such as `store:{store_id}`, with the handler's default for a
-- missing one. All spellings of the same value give the same text.
-- returns: the text; null if there is no template, or if a field is null or missing and has no default
-- raises: RC040 a field that is an object or an array
create or replace function rolecall.fill_template(
    p_template text, p_payload jsonb, p_signature jsonb, p_what text
)
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Alternates between text and field names, because neither can contain braces.
    v_parts text[] := string_to_array(translate(p_template, '}', '{'), '{');
    v_field text;
    v_schema jsonb;
    v_value jsonb;
    v_text text;
begin
    for v_n in 2 .. coalesce(cardinality(v_parts), 0) by 2 loop
        v_field := v_parts[v_n];
        v_schema := coalesce(
            p_signature #> array['$defs', substr(p_signature ->> '$ref', length('#/$defs/') + 1)], p_signature
        ) #> array['properties', v_field];
        v_value := coalesce(p_payload -> v_field, v_schema -> 'default');
        v_text := v_value #>> '{}';
        if v_text is null then
            return null;
        elsif jsonb_typeof(v_value) in ('object', 'array') then
            raise exception using errcode = 'RC040', message = format(
                '%s contains %s, which is an %s in this payload', p_what, quote_literal(v_field),
                jsonb_typeof(v_value)
            );
        end if;
        v_parts[v_n] := case
            when jsonb_typeof(v_value) = 'number' then trim_scale(v_text::numeric)::text
            when jsonb_typeof(v_value) = 'string' and v_schema @? '$.**.format ? (@ == "uuid")'
                and replace(v_text, '-', '') ~* '^[0-9a-f]{32}$'
                then replace(v_text, '-', '')::uuid::text
            else v_text
        end;
    end loop;
    return array_to_string(v_parts, '');
end
$$;
