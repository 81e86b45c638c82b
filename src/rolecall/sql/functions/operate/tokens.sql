-- Creates a secret that can finish a task from outside, once: for a link in an email, or for a webhook.
-- Only its digest is stored.
-- returns: the secret, which cannot be read again
-- raises: RC002 no such open task; RC040 an invalid time to live
-- public: yes
create or replace function rolecall.issue_token(p_task_id bigint, p_ttl interval default '7 days')
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    -- Two times 122 random bits.
    v_token text := 'rct_' || encode(
        sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea), 'hex'
    );
begin
    perform rolecall.require_durability();
    if p_ttl is null or p_ttl <= '0 s' or p_ttl > '10 years' then
        perform rolecall.refuse('RC040', 'a token lives for up to ten years, and more than no time');
    end if;
    if not rolecall.is_open(p_task_id, false) then
        raise exception using errcode = 'RC002', detail = p_task_id::text,
            message = format('there is no open task %s', p_task_id);
    end if;
    insert into rolecall.task_tokens (digest, task_id, created_at, expires_at)
    values (sha256(v_token::bytea), p_task_id, v_now, v_now + p_ttl);
    return v_token;
end
$$;

-- Completes the task of a completion token. The caller, not the token, determines the next tasks.
-- returns: the task's id
-- raises: RC004 the token is unknown, used or expired, or its task has finished; and as complete_task does
-- locks: as end_from_outside does; then the task's tokens
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.complete_by_token(
    p_token text, p_result jsonb default null, p_next jsonb default null
)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.use_token(
        p_token, jsonb_build_object('state', 'completed', 'result', p_result, 'next', p_next)
    )
$$;

-- Fails the task of a completion token.
-- returns: the task's id
-- raises: RC004 the token is unknown, used or expired, or its task has finished; RC050 wrong isolation
-- level; nothing of use_token that concerns next tasks
-- locks: as end_from_outside does; then the task's tokens
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.fail_by_token(p_token text, p_error text default null)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.use_token(p_token, jsonb_build_object('state', 'failed', 'error', p_error))
$$;

-- Finishes the task of a completion token, which invalidates all tokens of the task.
-- returns: the task's id
-- raises: RC004 the token is unknown, used or expired, or its task has finished; and as end_from_outside
-- does
-- locks: as end_from_outside does; then the task's tokens
-- notifies: as end_from_outside does
create or replace function rolecall.use_token(p_token text, p_end jsonb)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := (
        select token.task_id from rolecall.task_tokens as token
        where token.digest = sha256(convert_to(p_token, 'UTF8')) and token.expires_at > rolecall.clock()
    );
    v_outcome text := (
        select ended.outcome
        from rolecall.end_from_outside(jsonb_build_array(p_end || jsonb_build_object('id', v_id))) as ended
        where v_id is not null
    );
begin
    -- The same error in all cases, so that guessing reveals nothing.
    if v_outcome is null or v_outcome in ('finished', 'missing') then
        perform rolecall.refuse('RC004', 'the token is unknown, used or expired, or its task has ended');
    end if;
    delete from rolecall.task_tokens where task_id = v_id;
    return v_id;
end
$$;
