-- Locks what new children need before their parent is locked: who ends one of those holds it and waits for
-- the parent. Serial children need the last one that stands.
-- locks: the needed tasks, children before parents, in id order
create or replace function rolecall.hold_needed(p_drafts jsonb, p_parent_id bigint)
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_needed bigint[] := array(
        select need::numeric::bigint
        from unnest('{$[*].needs[*],$[*].needs[*].task,$[*].needs[*].chain}'::jsonpath[]) as path
        cross join lateral jsonb_path_query(p_drafts, path) as need
        where case when jsonb_typeof(need) = 'number' then need::numeric between 0 and 9e18 else false end
    );
    v_last bigint := (
        select (select max(child.id) from rolecall.tasks as child where child.parent_id = parent.id)
        from rolecall.tasks as parent
        where parent.id = p_parent_id and parent.serial
    );
begin
    perform rolecall.hold_in_order(v_needed || v_last);
end
$$;
