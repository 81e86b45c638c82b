-- Lets each of these tasks need the one before, whatever becomes of that; the first needs a task that stands already, if any.
-- returns: the drafts with that need before their own
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.one_after_the_other(p_drafts jsonb, p_last_id bigint)
returns jsonb
language sql
immutable
set search_path = ''
as $$
    select jsonb_agg(case
        when n = 1 and p_last_id is null then draft
        else draft || jsonb_build_object('needs', jsonb_build_array(
            case when n = 1 then jsonb_build_object('task', p_last_id) else jsonb_build_object('item', n - 2) end
                || '{"on_failure": "ignore"}'
        ) || coalesce(nullif(draft -> 'needs', 'null'), '[]'))
    end order by n)
    from jsonb_array_elements(p_drafts) with ordinality as item (draft, n)
$$;
