-- Gives way for a moment, and makes what is left of a call's last try into a longer one. Whoever holds rows
-- waits for others a moment only, then lets all go and tries anew: so no two can keep waiting for each other,
-- whatever came in between. Chance parts those that try at the same moment.
create or replace function rolecall.wait_longer()
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Below a second, after which Postgres itself would end one of two that wait for each other, with an
    -- error.
    v_most constant interval := '800 ms';
    v_now constant interval := current_setting('lock_timeout');
begin
    -- Who waits for what was let go must first wake up: on a busy machine it is all taken again before that.
    perform pg_sleep(extract(epoch from v_now) * random() / 5);
    perform set_config(
        'lock_timeout', round(extract(epoch from least(2 * v_now, v_most)) * (600 + 400 * random()))::text,
        true
    );
end
$$;
