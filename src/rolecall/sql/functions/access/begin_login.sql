-- Counts an attempt to log in before the password is looked at, by name alone: servers of the release before
-- call it, and this one try_to_log_in. The last attempt that is allowed locks the name at once, and a success
-- unlocks it. After as long without an attempt, counting begins anew.
-- returns: null if the attempt may go on, else how many seconds it must wait
-- locks: the login_attempts row of the name
-- public: yes
create or replace function rolecall.begin_login(p_digest bytea, p_most int, p_lockout interval)
returns float8
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz;
    v_old rolecall.login_attempts;
    v_attempts int;
begin
    insert into rolecall.login_attempts (digest, attempts, last_at) values (p_digest, 0, rolecall.clock())
    on conflict do nothing;
    select * into v_old from rolecall.login_attempts where digest = p_digest for update;
    -- Only now: whoever was waited for here has read the clock later than this call began.
    v_now := rolecall.clock();
    if v_old.locked_until > v_now then
        return extract(epoch from v_old.locked_until - v_now);
    end if;
    v_attempts := 1 + case
        when v_old.locked_until is null and v_old.last_at > v_now - p_lockout then v_old.attempts
        else 0
    end;
    update rolecall.login_attempts
    set attempts = v_attempts, last_at = v_now,
        locked_until = case when v_attempts >= p_most then v_now + p_lockout end
    where digest = p_digest;
    return null;
end
$$;
