-- Lets a person in who has just shown the password that stands as this hash; forgets the failed attempts
-- before.
-- returns: when the session ends; null where the person is gone or has another password by now
-- locks: the people row, then the login_attempts row of the name
-- public: yes
create or replace function rolecall.open_session(
    p_person_id bigint, p_password_hash text, p_digest bytea, p_name_digest bytea, p_lifetime interval,
    p_origin text
)
returns timestamptz
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_expires_at timestamptz;
begin
    perform rolecall.require_durability();
    update rolecall.people set last_login_at = v_now
    where id = p_person_id and password_hash = p_password_hash;
    if found then
        insert into rolecall.sessions (digest, person_id, origin, created_at, expires_at)
        values (p_digest, p_person_id, p_origin, v_now, v_now + p_lifetime)
        returning expires_at into v_expires_at;
        delete from rolecall.login_attempts where digest = p_name_digest;
    end if;
    return v_expires_at;
end
$$;
