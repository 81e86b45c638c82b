-- Opens a session for a person whose password matches this hash, and clears the person's failed attempts.
-- returns: when the session ends; null if the person was removed or the password was changed meanwhile
-- locks: the people row, then the login_attempts row of the name
-- public: yes
create or replace function rolecall.open_session(
    p_person_id bigint, p_password_hash text, p_digest bytea, p_name_digest bytea, p_lifetime interval,
    p_origin text
)
returns timestamptz
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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

-- Opens a session for a caller who has shown the local token. The digest is keyed with that token, so the
-- session counts only at servers that have it.
-- returns: when the session ends
-- locks: nothing but the new row
-- public: yes
create or replace function rolecall.open_local_session(
    p_digest bytea, p_lifetime interval, p_origin text
)
returns timestamptz
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    insert into rolecall.sessions (digest, origin, created_at, expires_at)
    select p_digest, p_origin, clock, clock + p_lifetime from rolecall.clock() as clock
    returning expires_at
$$;

-- Records that a session is in use.
-- locks: the sessions row; skips a locked row, whose holder records the same
-- public: yes
create or replace function rolecall.touch_session(p_digest bytea)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    update rolecall.sessions set last_used_at = rolecall.clock()
    where digest = (
        select used.digest from rolecall.sessions as used where used.digest = p_digest for update skip locked
    )
$$;

-- Ends a session.
-- returns: whether there was one
-- locks: the sessions row
-- public: yes
create or replace function rolecall.close_session(p_digest bytea)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.require_durability();
    delete from rolecall.sessions where digest = p_digest;
    return found;
end
$$;
