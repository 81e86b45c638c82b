-- Records the app and release of a worker, and the declarations of that release: by kind (schedule, key,
-- role, handler), an object of names with digests, or null for a declaration without settings.
-- locks: the workers row
-- public: yes
create or replace function rolecall.declare_release(
    p_worker_id bigint, p_app text, p_release text, p_names jsonb
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    select rolecall.require_own_worker(p_worker_id);
    insert into rolecall.declarations (app, release, kind, name, digest)
    select p_app, p_release, kinds.kind, item.name, item.digest
    from jsonb_each(p_names) as kinds (kind, names)
    cross join jsonb_each_text(kinds.names) as item (name, digest)
    order by kinds.kind, item.name
    on conflict do nothing;
    update rolecall.workers set app = p_app, release = p_release where id = p_worker_id
$$;

-- Withdraws declarations of another release of an app that none of its live workers declares any more: a
-- schedule is disabled unless a person has edited it, the capacity of a key and the settings of a role
-- return to the defaults, and a handler is marked. While workers of two releases run, the declarations of
-- both count. Each withdrawal is recorded in the audit log.
-- returns: what was withdrawn
-- locks: the declarations rows, in order of app, kind and name; then rows of schedules, handlers, roles,
-- keys
-- public: yes
create or replace function rolecall.withdraw_undeclared()
returns table (app text, kind text, name text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
    for app, kind, name in
        select earlier.app, earlier.kind, earlier.name
        from rolecall.declarations as earlier
        where exists (
            select from rolecall.workers as worker
            where worker.stopped_at is null and worker.app = earlier.app
        )
            and not exists (
                select from rolecall.declarations as present
                join rolecall.workers as worker
                    on worker.stopped_at is null
                        and (worker.app, worker.release) = (present.app, present.release)
                where (present.kind, present.name) = (earlier.kind, earlier.name)
            )
        group by earlier.app, earlier.kind, earlier.name
        order by earlier.app, earlier.kind, earlier.name
    loop
        delete from rolecall.declarations as earlier
        where (earlier.app, earlier.kind, earlier.name)
            = (withdraw_undeclared.app, withdraw_undeclared.kind, withdraw_undeclared.name);
        -- Another process was faster.
        continue when not found;
        perform rolecall.withdraw_declaration(
            withdraw_undeclared.kind, withdraw_undeclared.name,
            format('app %s no longer declares it', withdraw_undeclared.app)
        );
        perform rolecall.record_audit(
            'rolecall', 'system', null, 'declarations.withdraw',
            jsonb_build_object(
                'app', withdraw_undeclared.app, 'kind', withdraw_undeclared.kind,
                'name', withdraw_undeclared.name
            ),
            null
        );
        return next;
    end loop;
    -- Other releases return only with a worker that declares them again.
    delete from rolecall.declarations as earlier
    where exists (
        select from rolecall.workers as worker where worker.stopped_at is null and worker.app = earlier.app
    )
        and not exists (
            select from rolecall.workers as worker
            where worker.stopped_at is null and (worker.app, worker.release) = (earlier.app, earlier.release)
        );
end
$$;

-- Ends the effect of one declaration.
-- locks: one row of schedules, handlers, roles or keys
create or replace function rolecall.withdraw_declaration(p_kind text, p_name text, p_reason text)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    update rolecall.schedules
    set enabled = enabled and edited_at is not null, withdrawn = p_reason, revision = revision + 1
    where p_kind = 'schedule' and name = p_name and declared is not null;
    update rolecall.handlers set withdrawn = p_reason where p_kind = 'handler' and name = p_name;
    update rolecall.roles
    set description = default, lease = default, timeout = default, max_attempts = default, retry = default,
        max_payload_bytes = default, keep_completed = default, keep_failed = default, one_root = default,
        idempotent = default, strict_keys = default, withdrawn = p_reason
    where p_kind = 'role' and name = p_name;
    update rolecall.keys set declared = null where p_kind = 'key' and key = p_name;
    delete from rolecall.key_patterns
    where p_kind = 'key' and prefix = rolecall.key_prefix(p_name) and capacity is null;
    update rolecall.key_patterns set declared = null
    where p_kind = 'key' and prefix = rolecall.key_prefix(p_name)
$$;
