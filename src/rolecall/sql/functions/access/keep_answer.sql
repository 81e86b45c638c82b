-- Keeps for a day what a request was answered; in the transaction that carried it out, so that there is
-- neither without the other.
-- locks: the row of caller and key
-- public: yes
create or replace function rolecall.keep_answer(
    p_caller text, p_key text, p_digest bytea, p_status int, p_location text, p_body text
)
returns void
language sql
volatile
set search_path = ''
as $$
    insert into rolecall.requests (caller, key, digest, answered_at, status, location, body)
    values (p_caller, p_key, p_digest, rolecall.clock(), p_status, p_location, p_body)
    on conflict (caller, key) do update
    set digest = excluded.digest, answered_at = excluded.answered_at, status = excluded.status,
        location = excluded.location, body = excluded.body
$$;
