-- Puts this session on the roll as a worker that drains SQL handlers; it has no host, because it lives in the database.
-- returns: the worker's id
-- raises: RC031 unknown role
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.open_drain(p_role text)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
begin
    if p_role is not null and not exists (select from rolecall.roles where name = p_role) then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    return rolecall.register_worker(
        format('drain-%s', pg_backend_pid()), array_remove(array[p_role], null), array(select name from rolecall.procedures),
        1, null, pg_backend_pid(), 'sql'
    );
end
$$;
