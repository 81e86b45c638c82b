-- Puts documents with ids in such an order that those of the children of one parent stand together, as they
-- wait for the same row.
-- returns: the same documents
create or replace function rolecall.children_together(p_documents jsonb)
returns jsonb
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select jsonb_agg(document order by task.parent_id nulls first, task.id)
    from jsonb_array_elements(p_documents) as document
    left join lateral (
        select open.parent_id, open.id
        from rolecall.tasks as open
        where open.id = (document -> 'id')::bigint offset 0
    ) as task on true
$$;
