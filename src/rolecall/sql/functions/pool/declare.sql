-- Stores roles and handlers or changes their declarations. Omitted settings of a role keep their values.
-- raises: RC041 invalid declaration
-- locks: the roles and handlers that change, in name order
-- notifies: rolecall_handlers, if a SQL handler changed
-- public: yes
create or replace function rolecall.declare(p_roles jsonb, p_handlers jsonb default '[]')
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.check_declaration(p_roles || p_handlers);
    perform rolecall.check_procedures(p_handlers);
    -- A role that only a handler names gets the defaults.
    insert into rolecall.roles (name)
    select distinct coalesce(item.role, item.name) as role
    from jsonb_to_recordset(p_handlers) as item (name text, role text)
    where not exists (select from rolecall.roles where roles.name = coalesce(item.role, item.name))
    order by role
    on conflict do nothing;
    perform rolecall.declare_role(item) from jsonb_array_elements(p_roles) as item order by item ->> 'name';
    perform rolecall.declare_handler(item)
    from jsonb_array_elements(p_handlers) as item
    order by item ->> 'name';
    perform rolecall.refuse('RC041', format(
        '%s: its role %s runs one root at a time, by the role''s own key', handler.name, role.name
    ))
    from rolecall.handlers as handler
    join rolecall.roles as role on role.name = handler.role
    where handler.key is not null and role.one_root;
end
$$;

-- Validates the names, retry policies and templates of declared roles and handlers.
-- raises: RC041 invalid declaration
create or replace function rolecall.check_declaration(p_said jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_item jsonb;
begin
    for v_item in select * from jsonb_array_elements(p_said) loop
        if coalesce(v_item ->> 'name', '') !~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$' then
            perform rolecall.refuse(
                'RC041', format('%s is not a valid role or handler name', coalesce(v_item ->> 'name', 'null'))
            );
        elsif v_item -> 'retry' <> 'null' and not rolecall.is_retry_policy(v_item -> 'retry') then
            perform rolecall.refuse(
                'RC041', format('%s: %s is not a retry policy', v_item ->> 'name', v_item -> 'retry')
            );
        elsif (v_item ->> 'lease')::float8 not between 0.1 and 86400
            or (v_item ->> 'timeout')::float8 not between 0.001 and 4e9 then
            perform rolecall.refuse(
                'RC041', format('%s: lease must be 0.1 to 86400 s, timeout 0.001 to 4e9 s', v_item ->> 'name')
            );
        elsif (v_item ->> 'expires')::float8 not between 0.001 and 4e9 then
            perform rolecall.refuse('RC041', format('%s: expires must be 0.001 to 4e9 s', v_item ->> 'name'));
        elsif (v_item ->> 'max_attempts')::int < 0 then
            perform rolecall.refuse(
                'RC041', format('%s: max_attempts must be positive, or 0 for unlimited', v_item ->> 'name')
            );
        elsif (v_item ->> 'max_payload_bytes')::int not between 1024 and 67108864 then
            perform rolecall.refuse(
                'RC041', format('%s: max_payload_bytes must be 1024 to 67108864', v_item ->> 'name')
            );
        elsif (v_item ->> 'keep_completed')::float8 not between 0 and 4e9
            or (v_item ->> 'keep_failed')::float8 not between 0 and 4e9 then
            perform rolecall.refuse(
                'RC041', format('%s: the retention of finished tasks must be 0 to 4e9 s', v_item ->> 'name')
            );
        end if;
        perform rolecall.refuse('RC041', format(
            '%s: %s is not a valid key template: expected 1 to 200 characters, with payload fields in braces',
            v_item ->> 'name', quote_literal(template)
        ))
        from unnest(array[v_item ->> 'key', v_item ->> 'dedupe_key']) as template
        where length(template) not between 1 and 200 or template !~ '^([^{}]|[{][^{}]+[}])*$';
    end loop;
end
$$;

-- Checks that the procedures of handlers exist and have the right parameters.
-- raises: RC041 invalid declaration
create or replace function rolecall.check_procedures(p_handlers jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_item record;
begin
    for v_item in
        select *
        from jsonb_to_recordset(p_handlers) as item (name text, procedure text, before text, after text)
    loop
        if v_item.procedure is null and num_nonnulls(v_item.before, v_item.after) > 0 then
            perform rolecall.refuse(
                'RC041', format('%s: only SQL handlers can have hooks', v_item.name)
            );
        end if;
        perform rolecall.require_procedure(v_item.name, hook.procedure, hook.is_hook)
        from (
            values (v_item.procedure, false), (v_item.before, true), (v_item.after, true)
        ) as hook (procedure, is_hook)
        where hook.procedure is not null;
    end loop;
end
$$;

-- Checks that exactly one procedure of a name has the parameters of a handler or hook.
-- raises: RC041 invalid declaration
create or replace function rolecall.require_procedure(p_handler text, p_procedure text, p_is_hook boolean)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_found constant bigint := (select count(*) from rolecall.procedures_named(p_procedure, p_is_hook));
begin
    if v_found = 0 then
        perform rolecall.refuse('RC041', format(
            case when p_is_hook then '%s: there is no procedure %s(payload jsonb), nor %s()'
                else '%s: there is no procedure %s(payload jsonb, inout info jsonb), nor %s(payload jsonb)'
            end
            || '; include its schema in the name',
            p_handler, p_procedure, p_procedure
        ));
    elsif v_found > 1 then
        perform rolecall.refuse('RC041', rolecall.told_twice(p_handler, p_procedure, p_is_hook));
    end if;
end
$$;

-- Returns the error message for a procedure name that matches two procedures.
-- returns: a sentence
create or replace function rolecall.told_twice(p_handler text, p_procedure text, p_is_hook boolean)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select format(
        '%s: %s is ambiguous: there are %s; drop or rename one of them', p_handler, p_procedure,
        case when p_is_hook then '(payload jsonb) and ()'
            else '(payload jsonb, inout info jsonb) and (payload jsonb)' end
    )
$$;

-- Stores the declaration of a role if it differs from the stored one.
-- locks: the roles row
create or replace function rolecall.declare_role(p_said jsonb)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into rolecall.roles (name)
    select p_said ->> 'name'
    where not exists (select from rolecall.roles where name = p_said ->> 'name')
    on conflict do nothing;
    with item as (
        select
            role.name,
            coalesce(p_said ->> 'description', role.description) as description,
            coalesce(make_interval(secs => (p_said ->> 'lease')::float8), role.lease) as lease,
            coalesce(make_interval(secs => (p_said ->> 'timeout')::float8), role.timeout) as timeout,
            case when p_said ->> 'max_attempts' is null then role.max_attempts
                else nullif((p_said ->> 'max_attempts')::int, 0) end as max_attempts,
            coalesce(nullif(p_said -> 'retry', 'null'), role.retry) as retry,
            coalesce((p_said ->> 'max_payload_bytes')::int, role.max_payload_bytes) as max_payload_bytes,
            coalesce(
                make_interval(secs => (p_said ->> 'keep_completed')::float8), role.keep_completed
            ) as keep_completed,
            coalesce(
                make_interval(secs => (p_said ->> 'keep_failed')::float8), role.keep_failed
            ) as keep_failed,
            coalesce((p_said ->> 'one_root')::boolean, role.one_root) as one_root,
            coalesce((p_said ->> 'idempotent')::boolean, role.idempotent) as idempotent,
            coalesce((p_said ->> 'strict_keys')::boolean, role.strict_keys) as strict_keys
        from rolecall.roles as role
        where role.name = p_said ->> 'name'
    )
    update rolecall.roles as role
    set description = item.description, lease = item.lease, timeout = item.timeout,
        max_attempts = item.max_attempts, retry = item.retry, max_payload_bytes = item.max_payload_bytes,
        keep_completed = item.keep_completed, keep_failed = item.keep_failed, one_root = item.one_root,
        idempotent = item.idempotent, strict_keys = item.strict_keys, withdrawn = null
    from item
    where role.name = item.name
        and (
            role.withdrawn is not null or (
            role.description, role.lease, role.timeout, role.max_attempts, role.retry, role.max_payload_bytes,
            role.keep_completed, role.keep_failed, role.one_root, role.idempotent, role.strict_keys
        ) is distinct from (
            item.description, item.lease, item.timeout, item.max_attempts, item.retry, item.max_payload_bytes,
            item.keep_completed, item.keep_failed, item.one_root, item.idempotent, item.strict_keys
        ));
$$;

-- Stores the declaration of a handler if it differs from the stored one. Omitted settings are left to the
-- role. Values that an earlier declaration redacted stay redacted until `reveal_handler`.
-- locks: the handlers row
-- notifies: rolecall_handlers, if a SQL handler changed
create or replace function rolecall.declare_handler(p_said jsonb)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    with item as (
        select
            given.name, coalesce(given.role, given.name) as role,
            coalesce(given.description, '') as description, nullif(given.signature, 'null') as signature,
            make_interval(secs => given.lease) as lease, make_interval(secs => given.timeout) as timeout,
            given.max_attempts, nullif(given.retry, 'null') as retry,
            rolecall.find_procedure(given.procedure, false) as procedure,
            rolecall.find_procedure(given.before, true) as before_procedure,
            rolecall.find_procedure(given.after, true) as after_procedure,
            given.key, given.dedupe_key, make_interval(secs => given.expires) as expires,
            nullif(given.result_schema, 'null') as result_schema, given.strict_keys
        from jsonb_to_record(p_said) as given (
            name text, role text, description text, signature jsonb, lease float8, timeout float8,
            max_attempts int, retry jsonb, procedure text, before text, after text, key text, dedupe_key text,
            expires float8, result_schema jsonb, strict_keys boolean
        )
    ),
    stored as (
        insert into rolecall.handlers as handler (
            name, role, description, signature, lease, timeout, max_attempts, retry, procedure,
            before_procedure, after_procedure, key, dedupe_key, expires, result_schema, strict_keys
        )
        select * from item
        where not exists (
            select from rolecall.handlers as known
            where known.withdrawn is null and (
                known.name, known.role, known.description, known.signature, known.lease, known.timeout,
                known.max_attempts, known.retry, known.procedure, known.before_procedure,
                known.after_procedure, known.key, known.dedupe_key, known.expires, known.result_schema,
                known.strict_keys
            ) is not distinct from (
                item.name, item.role, item.description, item.signature, item.lease, item.timeout,
                item.max_attempts, item.retry, item.procedure, item.before_procedure, item.after_procedure,
                item.key, item.dedupe_key, item.expires, item.result_schema, item.strict_keys
            )
        )
        on conflict (name) do update
        set role = excluded.role, description = excluded.description, signature = excluded.signature,
            lease = excluded.lease, timeout = excluded.timeout, max_attempts = excluded.max_attempts,
            retry = excluded.retry, procedure = excluded.procedure,
            before_procedure = excluded.before_procedure, after_procedure = excluded.after_procedure,
            key = excluded.key, dedupe_key = excluded.dedupe_key, expires = excluded.expires,
            result_schema = excluded.result_schema, strict_keys = excluded.strict_keys, withdrawn = null,
            hiding = rolecall.schemas_that_still_hide(
                handler.hiding || jsonb_build_object(
                    'payload', handler.signature, 'result', handler.result_schema
                ),
                jsonb_build_object(
                    'payload', excluded.signature, 'result', excluded.result_schema
                )
            )
        returning procedure
    )
    select rolecall.notify('rolecall_handlers', '') from stored where procedure is not null
$$;

-- Returns the earlier schemas of a handler that redact a value which its declared schemas do not redact.
-- returns: an array of pairs of schemas, as in `handlers.hiding`
create or replace function rolecall.schemas_that_still_hide(p_earlier jsonb, p_declared jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(distinct earlier), '[]')
    from jsonb_array_elements(p_earlier) as earlier
    where not rolecall.hidden_places(earlier) <@ rolecall.hidden_places(p_declared)
$$;

-- Lists the positions of redacted values (`writeOnly`) in a document of JSON schemas. An alternative within
-- a schema has the position of the schema.
-- returns: positions such as `$.payload.properties.card`, in order
create or replace function rolecall.hidden_places(p_document jsonb)
returns text[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    with recursive part (place, value) as (
        select '$', p_document
        union all
        select part.place || '.' || inner_part.name, inner_part.value
        from part
        cross join lateral (
            select field.key, field.value
            from jsonb_each(case when jsonb_typeof(part.value) = 'object' then part.value end) as field
            union all
            select (item.number - 1)::text, item.value
            from jsonb_array_elements(case when jsonb_typeof(part.value) = 'array' then part.value end)
                with ordinality as item (value, number)
        ) as inner_part (name, value)
    )
    select array(
        select distinct regexp_replace(place, '[.](anyOf|oneOf|allOf)[.][0-9]+', '', 'g') as place
        from part
        where value @> '{"writeOnly": true}'
        order by place
    )
$$;

-- Lists the positions of values that an earlier declaration of a handler redacted and its current one does
-- not.
-- returns: positions such as `payload.properties.card`, in order
create or replace function rolecall.retained_redactions(p_handler rolecall.handlers)
returns text[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select regexp_replace(place, '^[$][.][0-9]+[.]', '')
        from unnest(rolecall.hidden_places(p_handler.hiding)) as place
        except
        select substr(place, 3)
        from unnest(rolecall.hidden_places(
            jsonb_build_object('payload', p_handler.signature, 'result', p_handler.result_schema)
        )) as place
        order by 1
    )
$$;

-- Stops redacting values that only earlier declarations of a handler redacted.
-- returns: whether there were any; null for an unknown handler
-- locks: the handlers row
create or replace function rolecall.reveal_handler(p_name text)
returns boolean
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    with earlier as (
        select name, hiding from rolecall.handlers where name = p_name for update
    )
    update rolecall.handlers as handler
    set hiding = '[]'
    from earlier
    where handler.name = earlier.name
    returning earlier.hiding <> '[]'
$$;

-- Finds a procedure that can be a handler or a hook by its name, which includes the schema.
-- returns: its name, quoted if necessary; null if there is none
create or replace function rolecall.find_procedure(p_name text, p_is_hook boolean)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select found.name from rolecall.procedures_named(p_name, p_is_hook) as found limit 1
$$;

-- Finds the procedures with a name, which includes the schema, by their parameters: (jsonb, inout jsonb) or
-- (jsonb) for a handler, (jsonb) or none for a hook. Callers who are not the owner find only the owner's
-- procedures.
-- returns: their names, quoted if necessary, one row for each signature
create or replace function rolecall.procedures_named(p_name text, p_is_hook boolean)
returns table (name text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select format('%I.%I', place.nspname, found.proname)
    from pg_catalog.pg_proc as found
    join pg_catalog.pg_namespace as place on place.oid = found.pronamespace
    where p_name in (
        format('%I.%I', place.nspname, found.proname), format('%s.%s', place.nspname, found.proname)
    )
        and found.prokind = 'p'
        and case oidvectortypes(found.proargtypes)
            when 'jsonb, jsonb' then not p_is_hook and found.proargmodes = '{i,b}'::"char"[]
            when 'jsonb' then found.proargmodes is null
            when '' then p_is_hook
        end
        and (rolecall.is_owners_session() or found.proowner = current_user::regrole)
$$;
