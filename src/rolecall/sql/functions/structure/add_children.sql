-- Stores children of a task and counts them on it. Serial ones each need the one before. They stand before
-- the younger tasks of the parent's line, and before its older children.
-- returns: their ids in input order; a task that stood already for one of them is no child
-- raises: RC031, RC040 for what is no task; RC043 for one that would wait for itself; RC044 where the parent
-- is gone or has ended; RC045 a dedupe_key that is to be new; RC050 wrong isolation level, where a keyed task
-- is put off
-- locks: the caller holds the parent; dedupe keys in their order; needed tasks, children before parents
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.add_children(
    p_parent_id bigint, p_fence int, p_drafts jsonb, p_serial boolean
)
returns bigint[]
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_parent record;
    v_drafts jsonb := p_drafts;
    v_place rolecall.place;
    v_stored record;
    v_stood int;
begin
    if jsonb_typeof(p_drafts) <> 'array' then
        perform rolecall.refuse('RC040', 'children are an array of tasks');
    elsif p_drafts = '[]' then
        return '{}';
    end if;
    select task.fence, coalesce(task.depth, 0) + 1 as depth, task.scheduled_for - interval '1 us' as turn,
        task.serial,
        line.priority
    into v_parent
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    where task.id = p_parent_id;
    if not found then
        perform rolecall.refuse('RC044', format('the parent task %s is not open', p_parent_id));
    end if;
    if coalesce(p_serial, v_parent.serial) then
        v_drafts := rolecall.one_after_the_other(p_drafts, (
            select max(task.id)
            from rolecall.tasks as task
            where v_parent.serial and task.parent_id = p_parent_id
        ));
    end if;
    -- Counted before they are stored: one that fails at once, with what it needs, is taken off again.
    update rolecall.tasks as task
    set open_children = coalesce(task.open_children, 0) + jsonb_array_length(p_drafts),
        serial = coalesce(p_serial, task.serial, false)
    where task.id = p_parent_id;
    v_place := (
        null, null, null, p_parent_id, coalesce(p_fence, v_parent.fence), v_parent.depth, v_parent.priority,
        v_parent.turn, null, null
    );
    select *
    into v_stored
    from rolecall.store_tasks(v_drafts, array_fill(v_place, array[jsonb_array_length(v_drafts)]));
    if p_drafts @? '$[*].key' then
        perform rolecall.refuse_circle(v_stored.ids, p_parent_id);
    end if;
    v_stood := cardinality(v_stored.deduplicated);
    if v_stood > 0 then
        perform rolecall.conclude(array_fill(
            (null, 'completed', null, p_parent_id, v_parent.depth, null, null, null, null)::rolecall.ending,
            array[v_stood]
        ), null);
    end if;
    return v_stored.ids;
end
$$;

-- Lets each of these tasks need the one before, whatever becomes of that; the first needs a task that stands
-- already, if any.
-- returns: the drafts with that need before their own
create or replace function rolecall.one_after_the_other(p_drafts jsonb, p_last_id bigint)
returns jsonb
language sql
immutable
set search_path = ''
as $$
    select jsonb_agg(case
        when n = 1 and p_last_id is null then draft
        else draft || jsonb_build_object('needs', jsonb_build_array(
            case
                when n = 1 then jsonb_build_object('task', p_last_id)
                else jsonb_build_object('item', n - 2)
            end
                || '{"on_failure": "ignore"}'
        ) || coalesce(nullif(draft -> 'needs', 'null'), '[]'))
    end order by n)
    from jsonb_array_elements(p_drafts) with ordinality as item (draft, n)
$$;
