-- Stores what tasks need, in the order declared, after what they have needed before. Any task of a chain names the chain.
-- returns: nothing
-- raises: RC040 what does not stand earlier, in the batch or at all, or a name given twice; RC043 a task that needs itself
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.store_needs(p_needy jsonb, p_batch_ids bigint[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    insert into rolecall.needs (task_id, position, name, needed_id, whole_chain, on_failure)
    select want.id, coalesce(known.number, 0) + want.n, want.name, case when want.chain_id is null then want.needed_id else coalesce(
            (select task.chain_id from rolecall.tasks as task where task.id = want.chain_id),
            (select task.chain_id from rolecall.find_finished(array[want.chain_id]) as task limit 1),
            want.chain_id
        ) end, want.chain_id is not null, want.on_failure
    from (
        select needy.id, item.n, item.need ->> 'name' as name, (item.need ->> 'chain')::bigint as chain_id,
            (item.need ->> 'item')::bigint + 1 as place,
            coalesce(item.need ->> 'on_failure', 'fail')::rolecall.need_rule as on_failure,
            case jsonb_typeof(item.need)
                when 'number' then item.need::bigint
                else coalesce(
                    (item.need ->> 'task')::bigint, (item.need ->> 'chain')::bigint, p_batch_ids[(item.need ->> 'item')::bigint + 1]
                )
            end as needed_id
        from jsonb_to_recordset(p_needy) as needy (id bigint, needs jsonb)
        cross join lateral jsonb_array_elements(needy.needs) with ordinality as item (need, n)
    ) as want
    left join lateral (select max(position) as number from rolecall.needs where needs.task_id = want.id) as known on true
    where case
            when p_batch_ids is null then want.needed_id <> want.id
            -- Another task may stand for one earlier in the batch: one that is younger.
            when want.place is not null then want.place < array_position(p_batch_ids, want.id)
            else want.needed_id < want.id
        end is true
        or case when want.needed_id = want.id
            then rolecall.refuse('RC043', format('task %s would wait for itself', want.id))
            else rolecall.refuse('RC040', format('task %s can need only what was enqueued before it', want.id))
        end;
exception when unique_violation then
    perform rolecall.refuse('RC040', 'two needs of one task have the same name');
end
$$;
