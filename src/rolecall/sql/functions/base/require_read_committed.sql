-- Insists on READ COMMITTED, where each statement sees what others have committed: the engine's locks rely on
-- it.
-- raises: RC050 wrong isolation level
create or replace function rolecall.require_read_committed()
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform rolecall.refuse('RC050', format(
            'this call needs isolation level read committed, the transaction has %s',
            current_setting('transaction_isolation')
        ));
    end if;
end
$$;
