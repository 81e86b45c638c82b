-- Stores what is said of one role, where that is new.
-- returns: nothing
-- raises: nothing
-- locks: the roles row
-- notifies: nothing
create or replace function rolecall.declare_role(p_said jsonb)
returns void
language sql
volatile
set search_path = ''
as $$
    insert into rolecall.roles (name)
    select p_said ->> 'name'
    where not exists (select from rolecall.roles where name = p_said ->> 'name')
    on conflict do nothing;
    with said as (
        select
            role.name,
            coalesce(p_said ->> 'description', role.description) as description,
            coalesce(make_interval(secs => (p_said ->> 'lease')::float8), role.lease) as lease,
            coalesce(make_interval(secs => (p_said ->> 'timeout')::float8), role.timeout) as timeout,
            case when p_said ->> 'max_attempts' is null then role.max_attempts
                else nullif((p_said ->> 'max_attempts')::int, 0) end as max_attempts,
            coalesce(nullif(p_said -> 'retry', 'null'), role.retry) as retry,
            coalesce((p_said ->> 'max_payload_bytes')::int, role.max_payload_bytes) as max_payload_bytes,
            coalesce(make_interval(secs => (p_said ->> 'keep_completed')::float8), role.keep_completed) as keep_completed,
            coalesce(make_interval(secs => (p_said ->> 'keep_failed')::float8), role.keep_failed) as keep_failed,
            coalesce((p_said ->> 'one_root')::boolean, role.one_root) as one_root
        from rolecall.roles as role
        where role.name = p_said ->> 'name'
    )
    update rolecall.roles as role
    set description = said.description, lease = said.lease, timeout = said.timeout, max_attempts = said.max_attempts,
        retry = said.retry, max_payload_bytes = said.max_payload_bytes,
        keep_completed = said.keep_completed, keep_failed = said.keep_failed, one_root = said.one_root
    from said
    where role.name = said.name
        and (role.description, role.lease, role.timeout, role.max_attempts, role.retry, role.max_payload_bytes,
            role.keep_completed, role.keep_failed, role.one_root)
        is distinct from (said.description, said.lease, said.timeout, said.max_attempts, said.retry, said.max_payload_bytes,
            said.keep_completed, said.keep_failed, said.one_root);
$$;
