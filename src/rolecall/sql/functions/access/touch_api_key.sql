-- Notes that an API key is in use, not more than once a minute.
-- locks: the api_keys row; skips one that is locked, as who holds it notes the same
-- public: yes
create or replace function rolecall.touch_api_key(p_id bigint)
returns void
language sql
volatile
set search_path = ''
as $$
    update rolecall.api_keys set last_used_at = rolecall.clock()
    where id = (
        select stale.id from rolecall.api_keys as stale
        where stale.id = p_id
            and (stale.last_used_at is null or stale.last_used_at < rolecall.clock() - interval '1 minute')
        for update skip locked
    )
$$;
