-- Gives a key its row, and locks it; where retention is just deleting it, the key gets another one. A claim
-- that meets the key meanwhile leaves it out, as it does where another claim is at it: it does not wait for
-- this transaction, which may be a user's own.
-- locks: the keys row
create or replace function rolecall.give_key_row(p_key text)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    loop
        perform from rolecall.keys where key = p_key for update;
        exit when found;
        -- The lock that lock_keys tries.
        perform pg_advisory_xact_lock(7246926, hashtext(p_key) & 1023);
        insert into rolecall.keys (key) values (p_key) on conflict do nothing;
    end loop;
end
$$;
