-- Returns the current time: the database's clock, or the time that the owner's test has set in
-- rolecall.fake_now. Only the owner can set the clock: with another login's time, functions that run with
-- the owner's rights would delete or reassign rows too early. No other function reads the clock.
-- returns: the current time, which advances within a transaction
-- search_path: not set, so that it is inlined into its callers
create or replace function rolecall.clock()
returns timestamptz
language sql
volatile
as $$
    select case
        -- Without coalesce, an unset setting would be null, and `and` would call the second function.
        when coalesce(current_setting('rolecall.fake_now', true), '') <> '' and rolecall.is_owners_session()
            then current_setting('rolecall.fake_now')::pg_catalog.timestamptz
        else clock_timestamp()
    end
$$;

-- Returns whether the login of this session has all rights of the schema's owner. In any other session the
-- functions run with rights that the caller does not have, so they must trust neither its settings nor
-- functions that it names.
-- returns: true for the owner, its members and superusers
create or replace function rolecall.is_owners_session()
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select pg_has_role(session_user, place.nspowner, 'member')
    from pg_catalog.pg_namespace as place
    where place.nspname = 'rolecall'
$$;

-- Raises an error with the given code from inside an expression, so that a batch can be validated by the
-- statement that stores it.
-- returns: never
-- raises: the given SQLSTATE
create or replace function rolecall.refuse(p_code text, p_message text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = p_code, message = p_message;
end
$$;

-- Sends a notification, unless the caller has run `set local rolecall.notify = off`: a transaction that has
-- notified cannot be prepared for a two-phase commit. The next poll finds what was not notified.
-- raises: 22P02 the setting is neither on nor off
-- notifies: the channel
create or replace function rolecall.notify(p_channel text, p_payload text)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select pg_notify(p_channel, p_payload)
    where coalesce(nullif(current_setting('rolecall.notify', true), '')::boolean, true)
$$;

-- Requires isolation level READ COMMITTED. The engine's locks rely on each statement seeing what other
-- transactions have committed.
-- raises: RC050 wrong isolation level
create or replace function rolecall.require_read_committed()
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform rolecall.refuse('RC050', format(
            'this call needs isolation level read committed, the transaction has %s',
            current_setting('transaction_isolation')
        ));
    end if;
end
$$;

-- Makes the commit of the current transaction durable, regardless of the session's synchronous_commit.
-- Commits that are not durable can be lost if the server crashes.
-- returns: true
-- search_path: not set, so that it is inlined into its callers
create or replace function rolecall.require_durability()
returns boolean
language sql
volatile
as $$
    select current_setting('synchronous_commit') <> 'off'
        or set_config('synchronous_commit', 'on', true) = 'on'
$$;

-- Sleeps briefly and raises the lock timeout before a call tries again. A call that holds rows waits only
-- briefly for others, then releases its rows and retries, so two calls cannot block each other forever. The
-- times are random, so that calls that started together do not collide again.
create or replace function rolecall.wait_longer()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Less than a second (deadlock_timeout), after which Postgres would abort one of two deadlocked calls.
    v_most constant interval := '800 ms';
    v_now constant interval := current_setting('lock_timeout');
begin
    -- Waiters need time to wake up. On a busy machine, the rows would otherwise be locked again before they
    -- do.
    perform pg_sleep(extract(epoch from v_now) * random() / 5);
    perform set_config(
        'lock_timeout', round(extract(epoch from least(2 * v_now, v_most)) * (600 + 400 * random()))::text,
        true
    );
end
$$;

-- Waits before an operator's call tries again, as wait_longer does. Gives up five seconds after p_began.
-- The caller has undone its changes.
-- raises: RC051 others hold rows that the call needs
create or replace function rolecall.wait_a_while(p_began timestamptz)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if clock_timestamp() > p_began + interval '5 s' then
        perform rolecall.refuse(
            'RC051',
            'nothing was changed: another transaction has held rows that this call needs for 5 s;'
            ' try again, or end that transaction (pg_stat_activity lists it)'
        );
    end if;
    perform rolecall.wait_longer();
end
$$;

-- Returns whether this transaction collects events. Callers build events only if it does.
-- search_path: not set, so that it is inlined into its callers
create or replace function rolecall.collects_events()
returns boolean
language sql
stable
as $$
    select coalesce(current_setting('rolecall.events', true), '') <> ''
$$;

-- Adds events to those that this transaction has collected.
create or replace function rolecall.note_events(p_events jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_events is not null then
        perform set_config(
            'rolecall.events', (current_setting('rolecall.events')::jsonb || p_events)::text, true
        );
    end if;
end
$$;

-- Collects the events of tasks that have moved to the finished tasks, and of the chains that finished with
-- them.
create or replace function rolecall.note_ends(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
    perform rolecall.note_events((
        select jsonb_agg(
            jsonb_build_object(
                'type', 'job_' || task.state, 'id', task.id, 'role', line.role, 'handler', line.handler,
                'attempt', task.attempt, 'key', task.key,
                'chain_id', task.chain_id, 'parent_id', task.parent_id,
                'error', task.error, 'seconds', extract(epoch from task.finished_at - task.created_at),
                'chain_seconds', case when task.continued is not true then extract(
                    epoch from task.finished_at - coalesce(first.created_at, task.created_at)
                ) end
            )
            order by task.id
        )
        from unnest(p_ids) as given (id)
        join rolecall.finished_tasks as task using (id)
        join rolecall.lines as line on line.id = task.line_id
        left join rolecall.finished_tasks as first on first.id = task.chain_id and task.chain_index > 0
    ));
end
$$;

-- Collects one event for each of the given open tasks; job_blocked only for those that are blocked.
create or replace function rolecall.note_open(p_type text, p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
    perform rolecall.note_events((
        select jsonb_agg(
            jsonb_build_object(
                'type', p_type, 'id', task.id, 'role', line.role, 'handler', line.handler,
                'attempt', task.attempt, 'key', task.key,
                'chain_id', task.chain_id, 'parent_id', task.parent_id
            )
            order by task.id
        )
        from unnest(p_ids) as given (id)
        join rolecall.tasks as task using (id)
        join rolecall.lines as line on line.id = task.line_id
        where p_type <> 'job_blocked' or task.state = 'blocked'
    ));
end
$$;
