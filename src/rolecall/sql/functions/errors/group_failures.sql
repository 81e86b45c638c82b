-- Adds new failures to their groups. A group that was resolved is new again if it failed after that.
-- returns: whether there may be more to add
-- locks: new_failures rows, skipping locked rows; error_groups rows in id order
-- public: yes
create or replace function rolecall.group_failures(p_limit int default 5000)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_taken int;
begin
    with taken as materialized (
        delete from rolecall.new_failures
        where ctid = any(
            array(select new.ctid from rolecall.new_failures as new limit p_limit for update skip locked)
        )
        returning *
    ),
    summed as (
        select group_id, handler, type, message, frame, min(at) as first_at, max(at) as last_at,
            sum(failed) as failed, sum(retried) as retried,
            (array_agg(sample_id order by failed > 0 desc, at desc, sample_id desc))[1] as sample_id,
            (array_agg(worker_id order by at))[1] as first_worker,
            (array_agg(worker_id order by at desc))[1] as last_worker
        from taken
        group by group_id, handler, type, message, frame
    ),
    stored as (
        insert into rolecall.error_groups as known (
            id, handler, type, message, frame, state_at, opened_at, first_at, last_at, failed, retried,
            sample_id, first_release, last_release
        )
        select group_id, handler, type, message, frame, first_at, first_at, first_at, last_at, failed,
            retried, sample_id, first.release, last.release
        from summed
        left join rolecall.workers as first on first.id = first_worker
        left join rolecall.workers as last on last.id = last_worker
        order by group_id
        on conflict (id) do update
        set last_at = greatest(known.last_at, excluded.last_at), failed = known.failed + excluded.failed,
            retried = known.retried + excluded.retried, sample_id = excluded.sample_id,
            last_release = coalesce(excluded.last_release, known.last_release),
            state = case
                when known.state = 'resolved' and excluded.last_at > known.state_at then 'new'
                else known.state
            end,
            state_at = case
                when known.state = 'resolved' and excluded.last_at > known.state_at then excluded.last_at
                else known.state_at
            end,
            opened_at = case
                when known.state = 'resolved' and excluded.last_at > known.state_at
                    then greatest(excluded.first_at, known.state_at)
                else known.opened_at
            end
    ),
    counted as (
        insert into rolecall.error_hours as known (group_id, hour, failed, retried)
        select group_id, date_trunc('hour', at, 'UTC'), sum(failed), sum(retried)
        from taken
        group by 1, 2
        order by 1, 2
        on conflict (group_id, hour) do update
        set failed = known.failed + excluded.failed, retried = known.retried + excluded.retried
    )
    select count(*) into v_taken from taken;
    return v_taken = p_limit;
end
$$;
