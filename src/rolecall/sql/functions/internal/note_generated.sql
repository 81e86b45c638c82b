-- Counts, in the history of schedules, what their tasks have brought into the pool: follow-ups and children.
-- returns: nothing
-- raises: nothing
-- locks: schedule_runs rows of tasks that the caller holds
-- notifies: nothing
create or replace function rolecall.note_generated(p_places rolecall.place[], p_ids bigint[], p_deduplicated bigint[])
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_makers bigint[] := array(
        select coalesce(place.parent_id, place.origin_id) from unnest(p_places) as place where coalesce(place.chain_index, 0) = 0
    );
begin
    -- Most tasks that make others are no schedule's.
    if not exists (select from rolecall.schedule_runs as run where run.task_id = any(v_makers) and run.outcome = 'enqueued') then
        return;
    end if;
    with made as (
        select distinct coalesce(place.parent_id, place.origin_id) as maker, p_ids[place.ordinality::int] as id
        from unnest(p_places) with ordinality as place
        where coalesce(place.chain_index, 0) = 0
    ),
    -- A task that stood before is deduplicated each time that it is met, one that a twin in this batch met is not.
    new as (
        select met.id from unnest(p_ids) as met (id) group by met.id
        having count(*) > (select count(*) from unnest(p_deduplicated) as stood (id) where stood.id = met.id)
    )
    update rolecall.schedule_runs as run
    set generated = run.generated + born.number
    from (select made.maker, count(*) as number from made join new using (id) group by made.maker) as born
    where run.task_id = born.maker and run.outcome = 'enqueued';
end
$$;
