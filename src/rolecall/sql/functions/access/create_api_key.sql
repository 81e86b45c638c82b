-- Stores an API key by the digest of its secret; a lifetime of null is for ever.
-- returns: its id
-- public: yes
create or replace function rolecall.create_api_key(
    p_name text, p_scope rolecall.scope, p_prefix text, p_digest bytea, p_lifetime interval
)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select rolecall.require_durability();
    insert into rolecall.api_keys (name, scope, prefix, digest, created_at, expires_at)
    select p_name, p_scope, p_prefix, p_digest, clock, clock + p_lifetime
    from rolecall.clock() as clock
    returning id
$$;
