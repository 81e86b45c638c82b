-- Finds the task with which a chain stands open.
-- returns: its id; null where there is none
create or replace function rolecall.open_end_of_chain(p_chain_id bigint)
returns bigint
language sql
volatile
set search_path = ''
as $$
    select coalesce(
        (select id from rolecall.tasks where chain_id = p_chain_id and chain_index > 0),
        (select id from rolecall.tasks where id = p_chain_id and chain_index = 0)
    )
$$;
