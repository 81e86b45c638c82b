-- Makes a secret that ends a task from outside, once: for a link in a mail, or for a webhook. Only its digest
-- is stored.
-- returns: the secret, which nobody can read again
-- raises: RC002 no such open task; RC040 for a time to live that is none
-- public: yes
create or replace function rolecall.issue_token(p_task_id bigint, p_ttl interval default '7 days')
returns text
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    -- Twice 122 random bits.
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
