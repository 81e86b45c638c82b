-- Says whether some documents with ids are all of children of one parent, for which they would all wait.
-- returns: true or false
create or replace function rolecall.have_one_parent(p_documents jsonb)
returns boolean
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select count(distinct task.parent_id) = 1 and count(task.parent_id) = count(*)
    from jsonb_array_elements(p_documents) as document
    left join lateral (
        select open.parent_id from rolecall.tasks as open where open.id = (document -> 'id')::bigint offset 0
    ) as task on true
$$;
