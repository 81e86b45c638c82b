-- Releases tasks after attempts that did not complete: each becomes pending according to its retry policy,
-- waits for its needs, or finishes as failed or cancelled. Errors, timeouts and crashes spend the attempt.
-- Snoozes, and anything before the recorded start, do not. Neither do shutdowns, up to ten times, unless
-- the task has only one attempt. A task that was lost three times without spending an attempt becomes a
-- suspect: it is claimed only into free slots, and its worker records the start before it calls the
-- handler. If the claim did not report this itself, the fence is incremented, so that a late report is
-- rejected. An incompatible task moves to a line for other releases. The caller must call `conclude` with
-- the result.
-- returns: one row: the tasks with their new states; the keys that they gave up, and the endings that other
-- tasks may wait for
-- locks: the caller holds the tasks
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.return_tasks(p_losses jsonb)
returns table (ids bigint[], states rolecall.task_state[], keys text[], endings rolecall.ending[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
    v_judged jsonb;
    v_end record;
    v_free text[];
    v_lines int[];
begin
    select jsonb_agg(jsonb_build_object(
        'id', task.id, 'attempt', task.attempt, 'worker_id', task.worker_id, 'reason', loss.reason,
        'claimed_at', task.claimed_at, 'started_at', task.started_at,
        'spent', judged.spent, 'state', judged.next_state, 'due', judged.due, 'needs', given.needs,
        'error', coalesce(given.error, task.error, case
            when judged.next_state <> 'failed' then null
            when loss.reason = 'shutdown' then 'its worker was stopped, or cut off, while it ran'
            else loss.reason
        end), 'detail', given.error,
        'fence', task.fence + (given.reported is not true)::int, 'refund', blameless.so,
        'line_id', case
            when blameless.so and task.refunds >= 2 and not setting.never_ahead
                then rolecall.find_or_add_line(
                    setting.role, setting.handler, setting.priority, true, setting.misfit_for
                )
            when loss.reason = 'misfit' and judged.next_state = 'pending'
                then rolecall.find_or_add_line(
                    setting.role, setting.handler, setting.priority, setting.never_ahead,
                    array(select unnest(setting.misfit_for || given.intake) as one order by one)
                )
            else task.line_id
        end
    ))
    into v_judged
    from jsonb_to_recordset(p_losses) as given (
        id bigint, reason text, error text, after float8, final boolean, reported boolean, needs jsonb,
        intake text
    )
    join rolecall.tasks as task on task.id = given.id
    join rolecall.line_settings as setting on setting.line_id = task.line_id
    cross join lateral (
        -- A task that has not started cannot time out.
        select case when given.reason = 'timeout' and given.reported is not true and task.started_at is null
            then 'crashed' else given.reason end as reason
    ) as loss
    cross join lateral rolecall.decide_after_attempt(
        task, setting.retry, loss.reason, given.after,
        coalesce(given.final, false) or loss.reason = 'misfit' and (
            -- The same digest again, or a sixth one, shows that no release accepts the task.
            given.intake = any(setting.misfit_for) or cardinality(setting.misfit_for) >= 5
        ), v_now
    ) as judged
    cross join lateral (
        select not judged.spent
            and (loss.reason = 'crashed' or (loss.reason = 'shutdown' and task.started_at is not null)) as so
    ) as blameless;
    select * into v_end
    from rolecall.end_tasks(
        jsonb_path_query_array(v_judged, '$[*] ? (@.state == "failed" || @.state == "cancelled")')
    );
    with loss as materialized (
        select * from jsonb_to_recordset(v_judged) as judged (
            id bigint, attempt int, worker_id bigint, claimed_at timestamptz, started_at timestamptz,
            reason text, spent boolean, state rolecall.task_state, due timestamptz, needs jsonb, error text,
            detail text, fence int, refund boolean, line_id int
        )
    ),
    back as (
        update rolecall.tasks as task
        set state = loss.state,
            open_needs = case when loss.state = 'blocked' then jsonb_array_length(loss.needs) end,
            scheduled_for = loss.due, line_id = loss.line_id, fence = loss.fence,
            attempt = task.attempt - (not loss.spent)::int, refunds = task.refunds + loss.refund::int,
            worker_id = null, claimed_at = null, started_at = null,
            lease_until = null, deadline_at = null, cancel_requested_at = null, key_slot = null,
            error = loss.error
        from loss
        where task.id = loss.id and loss.state in ('pending', 'blocked')
        returning task.key
    ),
    logged as (
        insert into rolecall.task_events (
            task_id, at, kind, attempt, worker_id, detail, claimed_at, started_at
        )
        select id, v_now, reason, attempt, worker_id, detail, claimed_at, started_at from loss order by id
    ),
    noted as (
        insert into rolecall.new_failures (
            group_id, handler, type, message, frame, at, failed, retried, sample_id, worker_id
        )
        select same.group_id, line.handler, same.type, same.message, same.frame, v_now, 0, count(*),
            max(loss.id), max(loss.worker_id)
        from loss
        join rolecall.lines as line on line.id = loss.line_id
        cross join lateral rolecall.identify_error(
            line.handler, coalesce(loss.error, loss.reason)
        ) as same
        where loss.spent and loss.state = 'pending'
        group by same.group_id, line.handler, same.type, same.message, same.frame
    )
    select
        array_agg(id), array_agg(state), (select array_agg(distinct key) from back where key is not null),
        array_agg(line_id) filter (where state = 'pending' and due <= v_now)
    into ids, states, v_free, v_lines
    from loss;
    keys := v_end.keys || v_free;
    endings := v_end.endings;
    perform rolecall.wake_lines(v_lines);
    return next;
end
$$;

-- Decides how a task continues after a lost claim. A task that has expired or whose cancellation was
-- requested never runs again, however its claim ends. A task that was lost with its worker keeps its
-- position in the line and has no delay; after the third time it is a suspect and waits as after an error.
-- The delay after the nth attempt is linear, min(cap, step * n), or exponential, min(cap, first * factor ^
-- (n - 1)), with jitter. A policy of another kind does not retry.
-- returns: one row: whether the attempt is spent, the next state, and when a pending task is due again
create or replace function rolecall.decide_after_attempt(
    p_task rolecall.tasks, p_policy jsonb, p_reason text, p_after float8, p_final boolean, p_now timestamptz
)
returns table (spent boolean, next_state rolecall.task_state, due timestamptz)
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    with charge as (
        select case p_reason
            when 'snoozed' then false
            when 'blocked' then false
            when 'returned' then false
            when 'misfit' then coalesce(p_final, false)
            when 'shutdown' then p_task.started_at is not null
                and (p_task.refunds >= 10 or p_task.max_attempts is not distinct from 1)
            when 'crashed' then p_task.started_at is not null
            else true
        end as spent
    ),
    rule as (
        select policy, case policy ->> 'kind'
            when 'linear' then coalesce((policy ->> 'step')::float8, 5) * p_task.attempt
            when 'exponential' then coalesce((policy ->> 'first')::float8, 10)
                * power(coalesce((policy ->> 'factor')::float8, 2), least(p_task.attempt - 1, 60))
        end as seconds
        from (values (coalesce(p_task.retry, p_policy))) as given (policy)
    ),
    wait as (
        select spent, case
            when p_after is not null then make_interval(secs => least(greatest(p_after, 0), 4e9))
            when spent and seconds is not null then make_interval(
                secs => least(coalesce((policy ->> 'cap')::float8, 300), seconds)
                * (1 + coalesce((policy ->> 'jitter')::float8, 0) * (2 * random() - 1))
            )
        end as delay, spent and p_reason = 'crashed' and (
            select count(*) < 2
            from rolecall.task_events as event
            where event.task_id = p_task.id and event.kind = 'crashed'
        ) as keeps_its_place
        from charge, rule
    )
    select
        spent,
        case
            when p_reason in ('cancelled', 'expired') then 'cancelled'
            when spent and (p_final or p_task.attempt >= p_task.max_attempts or delay is null) then 'failed'
            when p_task.cancel_requested_at is not null then 'cancelled'
            when p_reason = 'blocked' then 'blocked'
            else 'pending'
        end::rolecall.task_state,
        coalesce(case when not keeps_its_place then p_now + delay end, p_task.scheduled_for)
    from wait
$$;

-- Returns whether a document is a retry policy: kind none, linear or exponential, with numbers that give a
-- valid delay for every attempt. A task whose delay overflowed could never be released.
create or replace function rolecall.is_retry_policy(p_policy jsonb)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_typeof(p_policy) = 'object'
        and coalesce(p_policy ->> 'kind' in ('none', 'linear', 'exponential'), false)
        and not exists (
            select
            from jsonb_each(p_policy - 'kind') as part
            where part.key not in ('first', 'factor', 'step', 'cap', 'jitter')
                or jsonb_typeof(part.value) <> 'number'
                or part.value::float8 not between 0 and case part.key
                    when 'jitter' then 1
                    when 'factor' then 1000
                    else 31536000
                end
        )
$$;

-- Finds the expired ones among the given tasks.
-- returns: one document per task, as return_tasks takes it; null if there is none
create or replace function rolecall.expired_among(p_ids bigint[])
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select jsonb_agg(jsonb_build_object(
            'id', task.id, 'reason', 'expired', 'error',
            to_char(task.expires_at at time zone 'UTC', '"it expired at "YYYY-MM-DD HH24:MI:SS"Z, before "')
            || case when task.fence = 0 then 'it began' else 'its next attempt began' end
        ))
        from rolecall.tasks as task
        where task.id = any(p_ids) and rolecall.has_expired(task.state, task.expires_at, rolecall.clock())
    );
end
$$;

-- Returns whether a task with this state and expiry has expired.
-- returns: true, false or null
-- search_path: not set, so that it is inlined into the calling statement
create or replace function rolecall.has_expired(
    p_state rolecall.task_state, p_expires_at timestamptz, p_now timestamptz
)
returns boolean
language sql
immutable
as $$
    select p_expires_at <= p_now and p_state in ('blocked', 'pending')
$$;

-- Returns why a claim no longer owns its task.
-- returns: taken, completed, cancelled, deleted; already if this claim was ended by its own report; owned
-- if it still owns the task
create or replace function rolecall.why_lost(p_worker_id bigint, p_id bigint, p_fence int)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(
        (
            select case
                when state = 'running' and worker_id = p_worker_id and fence = p_fence then 'owned'
                -- Anything but the claim's own report increments the fence.
                when state <> 'running' and fence = p_fence then 'already'
                else 'taken'
            end
            from rolecall.tasks
            where id = p_id
        ),
        (
            select case
                when worker_id = p_worker_id and fence = p_fence then 'already'
                when state = 'cancelled' then 'cancelled'
                else 'completed'
            end
            -- Not before the worker registered: its claims finished later.
            from rolecall.find_finished(array[p_id], coalesce(
                (select worker.started_at from rolecall.workers as worker where worker.id = p_worker_id),
                '-infinity'
            ))
            order by finished_at desc
            limit 1
        ),
        'deleted'
    )
$$;

-- Finds those of a worker's claims that no longer own their task. A claim whose own report is being stored
-- counts as completed.
-- returns: one row per lost claim, with the reason
create or replace function rolecall.lost_claims(p_worker_id bigint, p_ids bigint[], p_fences int[])
returns table (task_id bigint, reason text)
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select lost.id, case lost.reason when 'already' then 'completed' else lost.reason end
    from (
        select claim.id, rolecall.why_lost(p_worker_id, claim.id, claim.fence) as reason
        from unnest(p_ids, p_fences) as claim (id, fence)
        where not exists (
            select from rolecall.tasks as task
            where task.id = claim.id and task.fence = claim.fence and (task.worker_id = p_worker_id) is true
            offset 0
        )
    ) as lost
    where lost.reason <> 'owned'
$$;

-- Returns since when a task has been returned as incompatible.
-- returns: the time; null if it never was
create or replace function rolecall.unfit_since(p_task_id bigint)
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select min(event.at)
    from rolecall.task_events as event
    where event.task_id = p_task_id and event.kind = 'misfit'
$$;

-- Finds the group of an error from its handler and its text, so that workers in any language share one rule:
-- its type and message, as its summary has them, and the innermost frame of the application in a
-- traceback of Python or PL/pgSQL, without its line number. Values in the message are replaced by stars.
-- returns: one row: the group's id, below 2^52, and the parts that determine it together with the handler
create or replace function rolecall.identify_error(p_handler text, p_error text)
returns table (group_id bigint, type text, message text, frame text)
language plpgsql
immutable
rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
    v_line text := left(split_part(p_error, e'\n', 1), 600);
    v_frames constant text[] := string_to_array(p_error, '  File "');
    v_path text;
begin
    if v_line like 'Traceback (%' then
        -- Programs other than our workers may store a traceback only: its last line is the error.
        v_line := left(substring(rtrim(p_error, e' \n') from $re$[^\n]*\Z$re$), 600);
    end if;
    type := split_part(v_line, ': ', 1);
    if type ~ $re$[^\w.]$re$ then
        type := null;
        message := rolecall.normalize_message(v_line);
    else
        message := rolecall.normalize_message(substr(v_line, length(type) + 3));
    end if;
    -- The last traceback of Python is that of the error itself.
    for n in reverse cardinality(v_frames)..2 loop
        v_path := replace(split_part(v_frames[n], '"', 1), e'\\', '/');
        if v_path not like '%-packages/%' and v_path not ilike '%/lib/python%' and v_path not like '<%' then
            frame := substring(v_path from '[^/]+/[^/]+$|[^/]+$')
                || ' in ' || split_part(split_part(v_frames[n], ', in ', 2), e'\n', 1);
            exit;
        end if;
    end loop;
    frame := coalesce(frame, substring(p_error from $re$PL/pgSQL function ([^\s(]+)$re$));
    group_id := (
        'x' || left(md5(concat_ws(e'\n', p_handler, coalesce(type, ''), message, frame)), 13)
    )::bit(52)::bigint;
    return next;
end
$$;

-- Replaces the parts of a message that differ between failures of the same cause by stars: quoted texts,
-- addresses, and words with digits (numbers, times, ids, UUIDs). Names with underscores in double quotes,
-- such as those of constraints, are kept, as is the status code of a response. It is called for each
-- failure: regular expressions without captures and lookarounds cost a tenth of others.
-- returns: at most 200 characters
-- search_path: not set, so that it costs less; only identify_error calls it
create or replace function rolecall.normalize_message(p_message text)
returns text
language plpgsql
immutable
as $$
declare
    -- Control characters stand for the digits of a status while other digits are replaced. They exist in
    -- every encoding, as do the escapes of the quotes below.
    v_hidden constant text := e'\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x10';
    v_text text := p_message;
    v_status text;
begin
    if strpos(v_text, 'rror ''') > 0 then
        -- httpx quotes the status: Client error '404 Not Found' for url 'https://...'
        v_text := regexp_replace(v_text, $re$(rror )'(\d\d\d [^']*)'$re$, $re$\1\2$re$);
    end if;
    v_status := substring(
        v_text from $re$(?i)(?:http|status|code|rror)[ :=]{1,2}[1-5][0-9][0-9](?![\w.-])$re$
    );
    if v_status is not null then
        v_text := replace(v_text, v_status, translate(v_status, '0123456789', v_hidden));
    end if;
    if v_text ~ $re$['"`\u201c]$re$ then
        v_text := regexp_replace(
            v_text,
            $re$\Y'[^']*'|\Y"[^"]*[^a-z_"][^"]*"|\Y"[a-z]*"|`[^`]*`|\u201c[^\u201d]*\u201d$re$, '*', 'g'
        );
    end if;
    v_text := regexp_replace(
        v_text, $re$[^\s,;()\[\]<>='"]*(?:[0-9@]|://)[^\s,;()\[\]<>='"]*$re$, '*', 'g'
    );
    if v_text ~ '[a-f]{6}|[A-F]{6}' then
        v_text := regexp_replace(v_text, $re$\m(?:[a-f]{6,}|[A-F]{6,})\M$re$, '*', 'g');
    end if;
    v_text := regexp_replace(v_text, $re$\*(?:[\s,;:=/|&-]*\*)+$re$, '*', 'g');
    return translate(left(v_text, 200), v_hidden, '0123456789');
end
$$;
