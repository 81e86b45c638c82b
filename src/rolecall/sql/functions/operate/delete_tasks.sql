-- Deletes tasks, each with its chain and all that is below that: a chain stands as its last task does, so
-- only by that one is it deleted. Where together they cannot all go, each goes for itself.
-- returns: one row a given id: deleted, continued (its chain went on: name its last task), needed (something
-- open that stays needs it, or waits for it), missing
-- raises: RC050 wrong isolation level
-- locks: as delete_chains
-- notifies: as delete_chains
-- public: yes
create or replace function rolecall.delete_tasks(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_known record;
    v_chain bigint;
    v_refused bigint[] := '{}';
begin
    select
        array_agg(found.id) as ids, array_agg(found.chain_id) as chains,
        array_agg(found.id) filter (where found.continued) as continued,
        array(
            select distinct last.chain_id
            from unnest(array_agg(found.chain_id) filter (where found.continued is not true))
            as last (chain_id) order by last.chain_id desc
        ) as whole
    into v_known
    from unnest(p_ids) as given (id)
    cross join lateral (
        select task.id, task.chain_id, null::boolean as continued
        from rolecall.tasks as task
        where task.id = given.id
        union all
        select task.id, task.chain_id, task.continued
        from rolecall.finished_tasks as task
        where task.id = given.id
    ) as found;
    begin
        perform rolecall.delete_chains(v_known.whole);
    exception when sqlstate 'RC005' then
        -- The newest first, as it may be what needs an older one.
        foreach v_chain in array v_known.whole loop
            begin
                perform rolecall.delete_chains(array[v_chain]);
            exception when sqlstate 'RC005' then
                v_refused := v_refused || v_chain;
            end;
        end loop;
    end;
    return query
    select given.id, case
        when given.id <> all(v_known.ids) is not false then 'missing'
        when given.id = any(v_known.continued) then 'continued'
        when v_known.chains[array_position(v_known.ids, given.id)] = any(v_refused) then 'needed'
        else 'deleted'
    end
    from unnest(p_ids) as given (id);
end
$$;
