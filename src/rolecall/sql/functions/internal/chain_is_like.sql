-- Says whether a chain is in a state (see find_chains) and its first task has a role and a handler; null does not ask.
-- returns: true if so, false also where there is no such chain
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.chain_is_like(p_id bigint, p_state text, p_role text, p_handler text)
returns boolean
language sql
stable
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select exists (
        select from rolecall.chains as chain
        where chain.id = p_id
            and (p_state is null or p_state = chain.state::text or p_state = chain.status or (p_state = 'open' and chain.open))
            and (p_role is null or chain.role = p_role) and (p_handler is null or chain.handler = p_handler)
    )
$$;
