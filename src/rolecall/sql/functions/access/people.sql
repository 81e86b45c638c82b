-- Adds a person, who can log in from now on.
-- returns: the id; null if a person of that name exists
-- locks: waits for an uncommitted person of that name
-- public: yes
create or replace function rolecall.add_person(p_name text, p_scope rolecall.scope, p_password_hash text)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
    select rolecall.require_durability();
    insert into rolecall.people (name, scope, password_hash, created_at)
    values (p_name, p_scope, p_password_hash, rolecall.clock())
    on conflict (name) do nothing
    returning id
$$;

-- Replaces a person's password, ends the person's sessions, and forgets known browsers and failed login
-- attempts.
-- returns: whether the person exists
-- locks: the people row, its sessions and known_browsers, then the login_attempts rows
-- public: yes
create or replace function rolecall.set_password(p_name text, p_password_hash text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
    v_id bigint;
begin
    perform rolecall.require_durability();
    update rolecall.people set password_hash = p_password_hash where name = p_name returning id into v_id;
    delete from rolecall.sessions where person_id = v_id;
    delete from rolecall.known_browsers where person_id = v_id;
    perform rolecall.unlock_person(p_name);
    return v_id is not null;
end
$$;

-- Clears the failed login attempts for a person's name from all networks, which unlocks the person.
-- returns: whether the person exists
-- locks: the login_attempts rows
-- public: yes
create or replace function rolecall.unlock_person(p_name text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
    v_name constant bytea := sha256(convert_to(p_name, 'UTF8'));
begin
    perform rolecall.require_durability();
    delete from rolecall.login_attempts where digest = v_name or name_digest = v_name;
    return exists (select from rolecall.people where name = p_name);
end
$$;

-- Removes a person and ends their sessions.
-- returns: whether the person existed
-- locks: the people row and its sessions
-- public: yes
create or replace function rolecall.remove_person(p_name text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
    perform rolecall.require_durability();
    delete from rolecall.people where name = p_name;
    return found;
end
$$;
