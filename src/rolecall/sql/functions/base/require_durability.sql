-- Makes the surrounding transaction's commit durable, whatever the session's synchronous_commit says.
create or replace function rolecall.require_durability()
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end
$$;
