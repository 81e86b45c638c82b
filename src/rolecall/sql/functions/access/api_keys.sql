-- Stores an API key by the digest of its secret. A lifetime of null means that it does not expire.
-- returns: its id
-- public: yes
create or replace function rolecall.create_api_key(
    p_name text, p_scope rolecall.scope, p_prefix text, p_digest bytea, p_lifetime interval
)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    insert into rolecall.api_keys (name, scope, prefix, digest, created_at, expires_at)
    select p_name, p_scope, p_prefix, p_digest, clock, clock + p_lifetime
    from rolecall.clock() as clock
    returning id
$$;

-- Stores a person's own API key. It is deleted together with the person.
-- returns: its id
-- locks: the people row, against its removal
-- public: yes
create or replace function rolecall.create_own_api_key(
    p_name text, p_scope rolecall.scope, p_prefix text, p_digest bytea, p_lifetime interval,
    p_person_id bigint
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := rolecall.create_api_key(p_name, p_scope, p_prefix, p_digest, p_lifetime);
begin
    update rolecall.api_keys set person_id = p_person_id where id = v_id;
    return v_id;
end
$$;

-- Records that an API key was used, at most once a minute.
-- locks: the api_keys row; skips a locked row, whose holder records the same
-- public: yes
create or replace function rolecall.touch_api_key(p_id bigint)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    update rolecall.api_keys set last_used_at = rolecall.clock()
    where id = (
        select stale.id from rolecall.api_keys as stale
        where stale.id = p_id
            and (stale.last_used_at is null or stale.last_used_at < rolecall.clock() - interval '1 minute')
        for update skip locked
    )
$$;

-- Revokes an API key. Its row is kept for a while, so that the revocation remains visible.
-- returns: whether an active key was revoked
-- locks: the api_keys row
-- public: yes
create or replace function rolecall.revoke_api_key(p_id bigint)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
    perform rolecall.require_durability();
    update rolecall.api_keys set revoked_at = rolecall.clock() where id = p_id and revoked_at is null;
    return found;
end
$$;
