-- Forgets the failures before a login that has succeeded, and knows its browser from now on: as the one that
-- it was known as, or anew.
-- returns: whether it is known anew
-- locks: the login_attempts rows, then the known_browsers row
-- public: yes
create or replace function rolecall.welcome_browser(
    p_person_id bigint, p_name bytea, p_network bytea, p_browser bytea, p_new bytea
)
returns boolean
language plpgsql
volatile
set search_path = ''
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
