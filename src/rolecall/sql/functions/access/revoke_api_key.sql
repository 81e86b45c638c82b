-- Lets an API key open nothing from now on; its row stays for a while, so that people see what became of it.
-- returns: whether there was one that was not revoked yet
-- locks: the api_keys row
-- public: yes
create or replace function rolecall.revoke_api_key(p_id bigint)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.require_durability();
    update rolecall.api_keys set revoked_at = rolecall.clock() where id = p_id and revoked_at is null;
    return found;
end
$$;
