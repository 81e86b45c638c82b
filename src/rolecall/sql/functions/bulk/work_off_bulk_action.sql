-- Works off one batch of the bulk action that is due for the longest time. Its changes and its progress are
-- one transaction, so a killed process loses nothing and repeats nothing. If the batch fails, nothing of it
-- is stored, and the action is due again after ten seconds, so that the other actions continue.
-- returns: one row if an action was due: whether another batch may be due now, and why this one failed
-- locks: the bulk_actions row, skipping locked rows; then as act_on_tasks
-- notifies: as act_on_tasks
-- public: yes
create or replace function rolecall.work_off_bulk_action(p_limit int default 1000)
returns table (is_more_due boolean, problem text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := rolecall.clock();
    v_bulk rolecall.bulk_actions;
begin
    select * into v_bulk
    from rolecall.bulk_actions as bulk
    where bulk.next_at <= v_now
    order by bulk.next_at, bulk.id
    limit 1
    for update skip locked;
    if not found then
        return;
    end if;
    begin
        perform rolecall.work_off_batch(v_bulk, v_now, p_limit);
    exception when others then
        problem := format('bulk action %s: %s', v_bulk.id, sqlerrm);
        update rolecall.bulk_actions as bulk set next_at = rolecall.clock() + interval '10 s'
        where bulk.id = v_bulk.id;
    end;
    is_more_due := exists (select from rolecall.bulk_actions as due where due.next_at <= rolecall.clock());
    return next;
end
$$;

-- Changes the next tasks of a bulk action, and records its progress.
-- raises: RC050 wrong isolation level; RC051 another transaction holds rows that it needs
-- locks: as act_on_tasks
-- notifies: as act_on_tasks
create or replace function rolecall.work_off_batch(
    p_bulk rolecall.bulk_actions, p_now timestamptz, p_limit int
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_found record;
    v_outcomes jsonb;
begin
    select * into v_found
    from rolecall.search_tasks(
        rolecall.filter_of_bulk_action(p_bulk), p_bulk.below, rolecall.size_of_batch(p_bulk, p_now, p_limit)
    ) as page;
    select jsonb_object_agg(counted.outcome, counted.number) into v_outcomes
    from (
        select outcome, sum(number) as number
        from (
            select acted.outcome, count(*) as number
            from rolecall.act_on_tasks(
                p_bulk.action, v_found.ids, p_bulk.actor, p_bulk.id,
                rolecall.delays_of_batch(p_bulk, p_now, cardinality(v_found.ids))
            ) as acted
            group by acted.outcome
            union all
            select each.key, each.value::bigint from jsonb_each_text(p_bulk.outcomes) as each
        ) as either
        group by outcome
    ) as counted;
    update rolecall.bulk_actions as bulk
    set state = case when v_found.reached is null then 'completed' else 'running' end,
        finished_at = case when v_found.reached is null then rolecall.clock() end,
        below = coalesce(v_found.reached, 0), done = bulk.done + cardinality(v_found.ids),
        outcomes = coalesce(v_outcomes, '{}'),
        next_at = case
            when v_found.reached is null then null
            -- The other actions come first.
            when bulk.rate is null then rolecall.clock()
            else bulk.starts_at - interval '2 s'
                + make_interval(secs => (bulk.done + cardinality(v_found.ids)) / bulk.rate)
        end
    where bulk.id = p_bulk.id;
end
$$;

-- Returns how many tasks a bulk action may change now: with a rate, those of the next five seconds.
-- returns: a number from 1 to p_limit
create or replace function rolecall.size_of_batch(
    p_bulk rolecall.bulk_actions, p_now timestamptz, p_limit int
)
returns int
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when (p_bulk).rate is null then p_limit else greatest(1, least(p_limit, ceil(
        extract(epoch from p_now + interval '5 s' - (p_bulk).starts_at)::float8 * (p_bulk).rate
        - (p_bulk).done
    )))::int end
$$;

-- Returns the filter of a bulk action's tasks. Tasks that have finished since it was stored do not belong to
-- it.
create or replace function rolecall.filter_of_bulk_action(p_bulk rolecall.bulk_actions)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select (p_bulk).filter || jsonb_build_object('action', (p_bulk).action) || case
        when (p_bulk).action = 'retry'
            or (p_bulk).filter ?| array['finished_from', 'finished_to', 'error_group']
            or (p_bulk).filter ->> 'state' in ('completed', 'failed', 'cancelled')
            then jsonb_build_object('finished_to', least(
                ((p_bulk).filter ->> 'finished_to')::timestamptz, (p_bulk).created_at
            ))
        else '{}'
    end
$$;

-- Returns the seconds until each task of a batch is due: evenly spaced by the rate of the bulk action.
-- returns: an array of p_number delays; null if the action has no rate
create or replace function rolecall.delays_of_batch(
    p_bulk rolecall.bulk_actions, p_now timestamptz, p_number int
)
returns float8[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when (p_bulk).rate is not null then array(
        select greatest(0, extract(epoch from (p_bulk).starts_at - p_now)::float8
            + ((p_bulk).done + turn) / (p_bulk).rate)
        from generate_series(0, p_number - 1) as turn
        order by turn
    ) end
$$;
