-- Lets Postgres say, in the language of this session, that a transaction is not the called one's to commit: what a function is
-- always told, and a procedure where its caller holds the transaction open.
-- returns: the message
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.refusal_of_commit()
returns text
language plpgsql
volatile
set search_path = ''
as $$
begin
    commit;
exception when invalid_transaction_termination then
    return sqlerrm;
end
$$;
