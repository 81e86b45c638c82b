-- Ends the task that a token stands for; with it, all its tokens are used up.
-- returns: the task's id
-- raises: RC004 the token is unknown, used or expired, or its task has ended; and as end_from_outside does
-- locks: as end_from_outside does; then the task's tokens
-- notifies: as end_from_outside does
create or replace function rolecall.use_token(p_token text, p_end jsonb)
returns bigint
language plpgsql
volatile
set search_path = ''
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
    -- One answer for all: what a stranger tries must tell him nothing.
    if v_outcome is null or v_outcome in ('finished', 'missing') then
        perform rolecall.refuse('RC004', 'the token is unknown, used or expired, or its task has ended');
    end if;
    delete from rolecall.task_tokens where task_id = v_id;
    return v_id;
end
$$;
