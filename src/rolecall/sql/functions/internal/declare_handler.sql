-- Stores what is said of one handler, where that is new; unlike a role's settings, what is not said is left to the role.
-- returns: nothing
-- raises: nothing
-- locks: the handlers row
-- notifies: nothing
create or replace function rolecall.declare_handler(p_said jsonb)
returns void
language sql
volatile
set search_path = ''
as $$
    insert into rolecall.handlers as handler (name, role, description, signature, lease, timeout, max_attempts, retry)
    select
        said.name, coalesce(said.role, said.name), coalesce(said.description, ''), nullif(said.signature, 'null'),
        make_interval(secs => said.lease), make_interval(secs => said.timeout), said.max_attempts, nullif(said.retry, 'null')
    from jsonb_to_record(p_said) as said (
        name text, role text, description text, signature jsonb, lease float8, timeout float8, max_attempts int, retry jsonb
    )
    where not exists (
        select from rolecall.handlers as known
        where (known.name, known.role, known.description, known.signature, known.lease, known.timeout,
            known.max_attempts, known.retry)
        is not distinct from (said.name, coalesce(said.role, said.name), coalesce(said.description, ''),
            nullif(said.signature, 'null'), make_interval(secs => said.lease), make_interval(secs => said.timeout),
            said.max_attempts, nullif(said.retry, 'null'))
    )
    on conflict (name) do update
    set role = excluded.role, description = excluded.description, signature = excluded.signature, lease = excluded.lease,
        timeout = excluded.timeout, max_attempts = excluded.max_attempts, retry = excluded.retry;
$$;
