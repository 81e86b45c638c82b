-- Says whether a task, or anything of a chain, is still open.
-- returns: true or false
create or replace function rolecall.is_open(p_id bigint, p_whole_chain boolean)
returns boolean
language sql
stable
set search_path = ''
as $$
    select exists (select from rolecall.tasks where id = p_id)
        or (p_whole_chain and exists (select from rolecall.tasks where chain_id = p_id and chain_index > 0))
$$;
