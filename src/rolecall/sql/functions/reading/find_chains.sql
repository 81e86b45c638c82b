-- Finds chains, newest first, optionally before a given chain. The state is `open`, or a state or status of
-- the last task; role and handler are those of the first task. Open chains are searched among open tasks,
-- failed and cancelled ones among failed and cancelled tasks, the others among all first tasks. Examines at
-- most p_most of those (null: all): a page may have fewer chains than p_limit although more follow.
-- returns: one row: at most p_limit ids, and the id before which the next page begins; null if there is
-- none
-- public: yes
create or replace function rolecall.find_chains(
    p_state text default null, p_role text default null, p_handler text default null,
    p_before bigint default null, p_limit int default 50, p_most int default 50000
)
returns table (ids bigint[], reached bigint)
language plpgsql
stable
rows 1
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
    v_lines int[] := coalesce(
        rolecall.lines_of(p_role, p_handler), array(select line.id from rolecall.lines as line)
    );
    v_state rolecall.task_state := case when p_state in ('failed', 'cancelled') then p_state end;
    v_before bigint := coalesce(p_before, 9223372036854775807);
    v_found refcursor;
    v_one record;
begin
    ids := '{}';
    -- Each source in its own order, so that they are merged by their indexes.
    if p_state is null or p_state = 'completed' then
        open v_found for
            with first as (
                select id, line_id, chain_index, null::rolecall.task_state as state, false as continued
                from rolecall.tasks
                union all
                select id, line_id, chain_index, state, continued
                from rolecall.finished_tasks
            ),
            seen as (
                select *
                from first
                where id < v_before and chain_index = 0 and (p_state is null or state is not null)
                order by id desc
                limit p_most
            )
            select id, row_number() over (order by id desc) as n,
                line_id = any(v_lines) and (p_state is null or continued or state = 'completed') as fits,
                p_state is null or continued is not true as sure
            from seen;
    elsif v_state is not null then
        open v_found for
            with last as (
                (
                    select task.id as begun_as, task.*
                    from rolecall.finished_tasks as task
                    where task.chain_index = 0 and task.state = v_state and task.state <> 'completed'
                    order by task.id desc
                )
                union all
                (
                    select task.chain_id, task.*
                    from rolecall.finished_tasks as task
                    where task.chain_index > 0
                    -- A chain's last task comes first, even if the limit ends the search within the chain.
                    order by task.chain_id desc, task.chain_index desc
                )
            ),
            seen as (
                select * from last where begun_as < v_before order by begun_as desc limit p_most
            )
            select begun_as as id, row_number() over (order by begun_as desc) as n,
                state = v_state and continued is not true
                    and (chain_index > 0 or line_id = any(v_lines)) as fits,
                chain_index = 0 as sure
            from seen;
    else
        open v_found for
            with last as (
                (
                    select task.id as begun_as, task.*
                    from rolecall.tasks as task
                    where task.chain_index = 0
                    order by task.id desc
                )
                union all
                (
                    select task.chain_id, task.*
                    from rolecall.tasks as task
                    where task.chain_index > 0
                    order by task.chain_id desc
                )
            )
            select begun_as as id, row_number() over (order by begun_as desc) as n,
                (chain_index > 0 or line_id = any(v_lines)) and (
                    p_state in ('open', shown.state::text)
                    or p_state = rolecall.status_of(
                        shown.state, parked, scheduled_for, attempt, lease_until, started_at
                    )
                ) as fits,
                chain_index = 0 as sure
            from last
            cross join lateral (
                select rolecall.shown_state(last.state, key_slot, started_at) as state
            ) as shown
            where begun_as < v_before
            order by begun_as desc
            limit p_most;
    end if;
    -- One by one, because a page needs few of them: a plan for all at once would read all of them.
    loop
        fetch v_found into v_one;
        exit when not found or cardinality(ids) > p_limit;
        reached := case when v_one.n = p_most then v_one.id end;
        if v_one.fits and (v_one.sure or rolecall.chain_is_like(v_one.id, p_state, p_role, p_handler)) then
            ids := ids || v_one.id;
        end if;
    end loop;
    reached := case when cardinality(ids) > p_limit then coalesce(ids[p_limit], v_before) else reached end;
    ids := ids[:p_limit];
    return next;
end
$$;

-- Returns whether a chain has a state (see find_chains) and its first task has a role and handler; null
-- matches any.
-- returns: true or false; false also if the chain does not exist
create or replace function rolecall.chain_is_like(p_id bigint, p_state text, p_role text, p_handler text)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select from rolecall.chains as chain
        where chain.id = p_id
            and (
                p_state is null
                or p_state = chain.state::text
                or p_state = chain.status
                or (p_state = 'open' and chain.open)
            )
            and (p_role is null or chain.role = p_role)
            and (p_handler is null or chain.handler = p_handler)
    )
$$;
