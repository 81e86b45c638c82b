-- Lists chains, newest first, optionally before a given chain, with the filters of find_chains but without
-- its limit on examined tasks.
-- returns: at most p_limit chains
-- public: yes
create or replace function rolecall.list_chains(
    p_state text default null, p_role text default null, p_handler text default null,
    p_before bigint default null, p_limit int default 50
)
returns setof rolecall.chains
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select chain.*
    from rolecall.find_chains(p_state, p_role, p_handler, p_before, p_limit, null) as found
    cross join lateral unnest(found.ids) with ordinality as given (id, position)
    -- Looks up each by its id: a join would read all tasks.
    cross join lateral (select * from rolecall.chains as one where one.id = given.id offset 0) as chain
    order by given.position
$$;
