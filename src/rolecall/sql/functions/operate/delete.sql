-- Deletes a task that is the only one of its chain, with the tree below it and all its records. A task of a
-- longer chain cannot be deleted, because that would change the chain's status and output.
-- returns: how many tasks were deleted, including those below it
-- raises: RC002 no such task; RC005 an open task that remains needs it, or waits for it as its child; RC007
-- its chain is longer; RC050 wrong isolation level; RC051 another transaction holds rows that it needs
-- locks: as delete_chains does
-- notifies: as delete_chains does
-- public: yes
create or replace function rolecall.delete_task(p_id bigint)
returns int
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_chain bigint := (select task.chain_id from rolecall.all_tasks as task where task.id = p_id);
    v_length int;
    v_gone int;
begin
    if v_chain is null then
        raise exception using errcode = 'RC002', detail = p_id::text,
            message = format('there is no task %s', p_id);
    end if;
    -- Counted by the deletion itself, under its locks, because the chain may continue until then. The error
    -- undoes it.
    select sum(gone.tasks), max(gone.tasks) filter (where gone.chain_id = v_chain) into v_gone, v_length
    from rolecall.delete_chains(array[v_chain]) as gone;
    if v_length > 1 then
        raise exception using errcode = 'RC007', detail = format('%s %s', v_chain, p_id),
            message = format(
                'task %s is one of the %s tasks of chain %s: delete the chain', p_id, v_length, v_chain
            );
    end if;
    return coalesce(v_gone, 0);
end
$$;

-- Deletes tasks, each with its chain and everything below that. A chain is deleted only through its last
-- task, which represents it. If the chains cannot be deleted together, each is deleted separately.
-- returns: one row per given id: deleted, continued (its chain continued: use the last task), needed (an
-- open task that remains needs it, or waits for it), missing
-- raises: RC050 wrong isolation level; RC051 another transaction holds rows that it needs
-- locks: as delete_chains
-- notifies: as delete_chains
-- public: yes
create or replace function rolecall.delete_tasks(p_ids bigint[])
returns table (task_id bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
        -- The newest first, because newer tasks may need older ones.
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

-- Deletes whole chains with the trees below them and all their records; with p_cascade also what they need,
-- recursively. Ids that are not those of a chain are ignored. The worker of a running task is notified that
-- it was deleted.
-- returns: one row per deleted chain, with its number of tasks
-- raises: RC005 an open task that remains needs one of them, or waits for it as its child; RC050 wrong
-- isolation level; RC051 another transaction holds rows that it needs
-- locks: the open tasks as hold_trees does; then finished ones; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, if an idle worker waits for a
-- role
-- public: yes
create or replace function rolecall.delete_chains(p_ids bigint[], p_cascade boolean default false)
returns table (chain_id bigint, tasks int)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_began constant timestamptz := clock_timestamp();
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    loop
        begin
            return query select * from rolecall.try_to_delete_chains(p_ids, p_cascade);
            return;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            -- All locks have been released: the next try includes new tasks.
            perform rolecall.wait_a_while(v_began);
        end;
    end loop;
end
$$;

-- Deletes chains, unless one of their tasks appeared or was claimed while this call waited for locks.
-- returns: one row per deleted chain, with its number of tasks
-- raises: RC005 an open task that remains needs one of them; RC090 a task appeared or was claimed: roll
-- back and try again
-- locks: the open tasks as hold_trees does; then finished ones; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, if an idle worker waits for a
-- role
create or replace function rolecall.try_to_delete_chains(p_ids bigint[], p_cascade boolean)
returns table (chain_id bigint, tasks int)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_held bigint[] := rolecall.hold_trees(
        rolecall.tasks_of_chains(rolecall.chains_with_all_below(p_ids, p_cascade))
    );
    v_chains bigint[] := rolecall.chains_with_all_below(p_ids, p_cascade);
    v_ids bigint[] := rolecall.tasks_of_chains(v_chains);
begin
    if exists (select from rolecall.tasks as task where task.id = any(v_ids) and task.id <> all(v_held)) then
        perform rolecall.refuse('RC090', 'a task appeared while this call waited for locks');
    end if;
    return query
    select chain.id, (select count(*)::int from rolecall.tasks_of_chain(chain.id))
    from unnest(v_chains) as chain (id);
    perform rolecall.refuse_needed_chains(v_ids);
    perform rolecall.forget_tasks(v_ids);
    if rolecall.collects_events() then
        perform rolecall.note_events((
            select jsonb_agg(jsonb_build_object('type', 'chain_deleted', 'chain_id', chain.id))
            from unnest(v_chains) as chain (id)
        ));
    end if;
end
$$;

-- Lists the tasks of chains, open and finished.
-- returns: their ids
create or replace function rolecall.tasks_of_chains(p_chain_ids bigint[])
returns bigint[]
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select array(
        select task.id
        from unnest(p_chain_ids) as chain (id)
        cross join lateral rolecall.tasks_of_chain(chain.id) as task
    )
$$;

-- Finds chains and those that their tasks have spawned, recursively; on request also everything that they
-- need.
-- returns: the chains' ids in order, without those that do not exist
create or replace function rolecall.chains_with_all_below(p_ids bigint[], p_needed_too boolean)
returns bigint[]
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    with recursive found as (
        select given.id as chain_id
        from unnest(p_ids) as given (id)
        where exists (select from rolecall.tasks_of_chain(given.id))
        union
        select further.chain_id
        from found
        cross join lateral rolecall.tasks_of_chain(found.chain_id) as task
        cross join lateral (
            select child.chain_id from rolecall.tasks as child where child.parent_id = task.id
            union all
            select child.chain_id from rolecall.finished_tasks as child where child.parent_id = task.id
            union all
            select coalesce(
                (select needed.chain_id from rolecall.tasks as needed where needed.id = need.needed_id),
                (
                    select needed.chain_id
                    from rolecall.finished_tasks as needed
                    where needed.id = need.needed_id limit 1
                )
            )
            from rolecall.needs as need
            where p_needed_too and need.task_id = task.id
        ) as further
        where further.chain_id is not null
    )
    select coalesce(array_agg(chain_id order by chain_id), '{}') from found
$$;

-- Checks that no open task that remains needs one of the given tasks, or waits for it as its child.
-- raises: RC005, with the ids of the chain and of the task that needs it as the detail
create or replace function rolecall.refuse_needed_chains(p_task_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_tie record;
begin
    select task.chain_id, dependent.id into v_tie
    from unnest(p_task_ids) as given (id)
    cross join lateral (
        select open.chain_id, open.parent_id from rolecall.tasks as open where open.id = given.id
        union all
        select finished.chain_id, finished.parent_id
        from rolecall.finished_tasks as finished
        where finished.id = given.id
    ) as task
    cross join lateral (
        select task.parent_id as id
        union all
        select need.task_id from rolecall.needs as need where need.needed_id = given.id
    ) as tie
    join rolecall.tasks as dependent on dependent.id = tie.id
    where not exists (select from unnest(p_task_ids) as inside (id) where inside.id = dependent.id)
    order by task.chain_id, dependent.id
    limit 1;
    if found then
        raise exception using errcode = 'RC005', detail = format('%s %s', v_tie.chain_id, v_tie.id),
            message = format(
                'chain %s is needed by task %s, which is open and would remain', v_tie.chain_id, v_tie.id
            );
    end if;
end
$$;

-- Deletes tasks, open and finished, with all their records, and frees their keys.
-- locks: finished tasks; the caller holds the open ones; keys rows in key order
-- notifies: rolecall_cancel with the workers of running ones; rolecall_wake, if an idle worker waits for a
-- role
create or replace function rolecall.forget_tasks(p_ids bigint[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
    v_workers bigint[];
    v_keys text[];
begin
    -- Finished tasks first: a task that is retried in the meantime is then found among the open ones.
    delete from rolecall.finished_tasks as task where task.id = any(p_ids);
    with gone as (
        delete from rolecall.tasks as task where task.id = any(p_ids) returning task.worker_id, task.key
    )
    select array_agg(gone.worker_id), array_agg(distinct gone.key) filter (where gone.key is not null)
    into v_workers, v_keys
    from gone;
    delete from rolecall.needs as need where need.task_id = any(p_ids);
    delete from rolecall.task_events as event where event.task_id = any(p_ids);
    delete from rolecall.task_logs as part where part.task_id = any(p_ids);
    delete from rolecall.task_tokens as token where token.task_id = any(p_ids);
    perform rolecall.tell_workers(v_workers);
    perform rolecall.unpark_heads(v_keys);
end
$$;
