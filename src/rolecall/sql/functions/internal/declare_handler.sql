-- Stores what is said of one handler, where that is new; unlike a role's settings, what is not said is left to the role.
-- returns: nothing
-- raises: nothing
-- locks: the handlers row
-- notifies: rolecall_handlers, where a SQL handler changed
create or replace function rolecall.declare_handler(p_said jsonb)
returns void
language sql
volatile
set search_path = ''
as $$
    with said as (
        select
            given.name, coalesce(given.role, given.name) as role, coalesce(given.description, '') as description,
            nullif(given.signature, 'null') as signature, make_interval(secs => given.lease) as lease,
            make_interval(secs => given.timeout) as timeout, given.max_attempts, nullif(given.retry, 'null') as retry,
            rolecall.find_procedure(given.procedure, false) as procedure,
            rolecall.find_procedure(given.before, true) as before_procedure,
            rolecall.find_procedure(given.after, true) as after_procedure
        from jsonb_to_record(p_said) as given (
            name text, role text, description text, signature jsonb, lease float8, timeout float8, max_attempts int, retry jsonb,
            procedure text, before text, after text
        )
    ),
    stored as (
        insert into rolecall.handlers as handler (
            name, role, description, signature, lease, timeout, max_attempts, retry, procedure, before_procedure, after_procedure
        )
        select * from said
        where not exists (
            select from rolecall.handlers as known
            where (known.name, known.role, known.description, known.signature, known.lease, known.timeout,
                known.max_attempts, known.retry, known.procedure, known.before_procedure, known.after_procedure)
            is not distinct from (said.name, said.role, said.description, said.signature, said.lease, said.timeout,
                said.max_attempts, said.retry, said.procedure, said.before_procedure, said.after_procedure)
        )
        on conflict (name) do update
        set role = excluded.role, description = excluded.description, signature = excluded.signature, lease = excluded.lease,
            timeout = excluded.timeout, max_attempts = excluded.max_attempts, retry = excluded.retry,
            procedure = excluded.procedure, before_procedure = excluded.before_procedure,
            after_procedure = excluded.after_procedure
        returning procedure
    )
    select rolecall.notify('rolecall_handlers', '') from stored where procedure is not null
$$;
