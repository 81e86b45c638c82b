-- Begins a request that shall be carried out once: nobody else can begin one of the same caller and key until
-- the transaction ends.
-- returns: the answer that is kept of it, at most one row; none, where it is to be carried out, and its
-- answer kept in the same transaction
-- raises: RC060 it is under way; RC061 the key was another request's
-- locks: an advisory lock on caller and key, until the transaction ends
-- public: yes
create or replace function rolecall.take_request(p_caller text, p_key text, p_digest bytea)
returns table (status int, location text, body text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kept rolecall.requests;
begin
    if not pg_try_advisory_xact_lock(hashtextextended(format('%s %s', p_caller, p_key), 2104)) then
        perform rolecall.refuse('RC060', 'a request with this key is under way: ask again for its answer');
    end if;
    select * into v_kept from rolecall.requests as request
    where request.caller = p_caller and request.key = p_key
        and request.answered_at > rolecall.clock() - interval '1 day';
    if not found then
        return;
    end if;
    if v_kept.digest <> p_digest then
        perform rolecall.refuse(
            'RC061', 'this key was used for another request: each needs a key of its own'
        );
    end if;
    return query select v_kept.status, v_kept.location, v_kept.body;
end
$$;

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
set search_path = pg_catalog, pg_temp
as $$
    insert into rolecall.requests (caller, key, digest, answered_at, status, location, body)
    values (p_caller, p_key, p_digest, rolecall.clock(), p_status, p_location, p_body)
    on conflict (caller, key) do update
    set digest = excluded.digest, answered_at = excluded.answered_at, status = excluded.status,
        location = excluded.location, body = excluded.body
$$;
