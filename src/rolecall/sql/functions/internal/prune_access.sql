-- Revokes API keys that nobody used for 30 days, those apart that were made for ever; forgets those that opened nothing for 30 days,
-- sessions that have ended, browsers that were not seen for 180 days, and attempts to log in that no longer count.
-- returns: how many of the kind were forgotten, at most p_limit
-- raises: nothing
-- locks: the rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.prune_access(p_kind text, p_now timestamptz, p_limit int)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_long_ago timestamptz := p_now - interval '30 days';
    v_gone bigint;
begin
    case p_kind
        when 'api_keys' then
            update rolecall.api_keys set revoked_at = p_now
            where revoked_at is null and expires_at is not null and coalesce(last_used_at, created_at) < v_long_ago;
            delete from rolecall.api_keys where least(revoked_at, expires_at) < v_long_ago;
        when 'sessions' then
            delete from rolecall.sessions
            where digest = any(array(
                select old.digest from rolecall.sessions as old where old.expires_at < p_now limit p_limit for update skip locked
            ));
        when 'known_browsers' then
            delete from rolecall.known_browsers
            where (digest, person_id) in (
                select old.digest, old.person_id from rolecall.known_browsers as old
                where old.last_seen_at < p_now - interval '180 days' limit p_limit for update skip locked
            );
        when 'login_attempts' then
            delete from rolecall.login_attempts
            where digest = any(array(
                select old.digest from rolecall.login_attempts as old
                where old.last_at < p_now - interval '1 day' limit p_limit for update skip locked
            ));
    end case;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
