-- Notes that a session is in use.
-- locks: the sessions row; skips one that is locked, as who holds it notes the same
-- public: yes
create or replace function rolecall.touch_session(p_digest bytea)
returns void
language sql
volatile
set search_path = ''
as $$
    update rolecall.sessions set last_used_at = rolecall.clock()
    where digest = (
        select used.digest from rolecall.sessions as used where used.digest = p_digest for update skip locked
    )
$$;
