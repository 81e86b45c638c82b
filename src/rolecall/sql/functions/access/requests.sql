-- Begins a request that must be executed only once. Until the transaction ends, no other can begin a
-- request with the same caller and key.
-- returns: the stored response, at most one row; if there is none, the caller executes the request and
-- stores its response in the same transaction
-- raises: RC060 the request is in progress; RC061 the key belongs to a different request
-- locks: the row of caller and key, waiting only briefly
-- public: yes
create or replace function rolecall.take_request(p_caller text, p_key text, p_digest bytea)
returns table (status int, location text, body text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '10ms'
as $$
declare
    v_kept rolecall.requests;
begin
    begin
        loop
            -- A row without a response: other transactions see it only if this one commits without storing
            -- a response.
            insert into rolecall.requests (caller, key, digest, answered_at, status, body)
            values (p_caller, p_key, p_digest, '-infinity', 0, '')
            on conflict (caller, key) do nothing;
            if found then
                return;
            end if;
            select * into v_kept from rolecall.requests as request
            where request.caller = p_caller and request.key = p_key
            for update;
            exit when found;
        end loop;
    exception when lock_not_available then
        perform rolecall.refuse('RC060', 'a request with this key is under way: ask again for its answer');
    end;
    if v_kept.answered_at <= rolecall.clock() - interval '1 day' then
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

-- Stores the response to a request for a day, in the transaction that executed it, so that both commit or
-- neither.
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
