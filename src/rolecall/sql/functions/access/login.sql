-- Counts a login attempt before the password is checked, so that parallel attempts cannot exceed a limit. A
-- browser that is known for the person has its own counter. Other attempts count by name and network, and
-- by name across all networks. The last allowed attempt locks immediately, and a success unlocks. Without
-- an attempt for the lockout period, the counter restarts.
-- returns: wait = the seconds to wait, null if the attempt is allowed; is_last = whether it is the last
-- allowed one
-- locks: the login_attempts rows of its counters, in order of their digests
-- public: yes
create or replace function rolecall.try_to_log_in(
    p_name bytea, p_network bytea, p_browser bytea, p_most int, p_most_of_name int, p_lockout interval,
    out wait float8, out is_last boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz;
    v_counters bytea[] := array[p_name, p_network];
    v_counter bytea;
begin
    if exists (
        select from rolecall.known_browsers as browser
        join rolecall.people as person on person.id = browser.person_id
        where browser.digest = p_browser and sha256(convert_to(person.name, 'UTF8')) = p_name
    ) then
        v_counters := array[p_browser];
    end if;
    for v_counter in select each.digest from unnest(v_counters) as each (digest) order by each.digest loop
        insert into rolecall.login_attempts (digest, name_digest, attempts, last_at)
        values (v_counter, p_name, 0, rolecall.clock()) on conflict do nothing;
        perform from rolecall.login_attempts as counter where counter.digest = v_counter for update;
    end loop;
    -- Read after the locks: the transaction that held them may have stored a time later than the start of
    -- this call.
    v_now := rolecall.clock();
    select extract(epoch from max(counter.locked_until) - v_now) into wait
    from rolecall.login_attempts as counter
    where counter.digest = any(v_counters) and counter.locked_until > v_now;
    is_last := false;
    if wait is null then
        with counted as (
            update rolecall.login_attempts as counter
            set attempts = next.attempts, last_at = v_now,
                locked_until = case when next.attempts >= next.most then v_now + p_lockout end
            from (
                select
                    old.digest, case when old.digest = p_name then p_most_of_name else p_most end as most,
                    1 + case
                        when old.locked_until is null and old.last_at > v_now - p_lockout then old.attempts
                        else 0
                    end as attempts
                from rolecall.login_attempts as old where old.digest = any(v_counters)
            ) as next
            where counter.digest = next.digest
            returning counter.locked_until
        )
        select bool_or(counted.locked_until is not null) into is_last from counted;
    end if;
end
$$;

-- Clears the failed attempts before a successful login and remembers the browser, under its existing digest
-- if it is known for this person.
-- returns: whether the browser is new
-- locks: the login_attempts rows, then the known_browsers row
-- public: yes
create or replace function rolecall.welcome_browser(
    p_person_id bigint, p_name bytea, p_network bytea, p_browser bytea, p_new bytea
)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from rolecall.login_attempts where digest in (p_name, p_network, p_browser);
    update rolecall.known_browsers set last_seen_at = rolecall.clock()
    where digest = p_browser and person_id = p_person_id;
    if found then
        return false;
    end if;
    insert into rolecall.known_browsers (digest, person_id, last_seen_at) values (
        p_new, p_person_id, rolecall.clock()
    );
    return true;
end
$$;
