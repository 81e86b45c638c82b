-- Finds, for refused drafts that say no more than a dedupe_key, the open task that stands for each: in one go, as there may be many.
-- returns: one row a draft, in the order of the positions; the task's id is null where none stands (any more), or the draft says more
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.plain_twins(p_tasks jsonb, p_positions bigint[])
returns table (n bigint, id bigint)
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
begin
    return query
    select item.n, (
        select task.id from rolecall.tasks as task
        where item.draft -> 'dedupe' is null
            and task.dedupe_key = rolecall.full_dedupe_key(item.draft) and task.dedupe_pending is not true
    )
    from (
        select refused.n, refused.turn, p_tasks -> (refused.n - 1)::int as draft
        from unnest(p_positions) with ordinality as refused (n, turn)
    ) as item
    order by item.turn;
end
$$;
