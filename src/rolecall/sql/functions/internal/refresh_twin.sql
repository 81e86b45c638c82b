-- Gives an unclaimed task what a newer draft of its dedupe key asks for: its moment, and its payload and priority, or both payloads
-- merged and the higher priority.
-- returns: false when the task was claimed or ended meanwhile
-- raises: RC040 payloads that cannot be merged, or become too large; RC050 wrong isolation level, where a keyed one is put off
-- locks: the task, which `hold_twins` has locked, unless it came since; its key
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.refresh_twin(p_id bigint, p_task jsonb, p_place rolecall.place)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_merges boolean := p_task -> 'dedupe' ->> 'mode' = 'merge';
    v_twin record;
    v_draft record;
    v_turn timestamptz;
    v_line_id int;
begin
    select task.payload, task.key, line.role, line.handler, line.priority::int, line.never_ahead, role.max_payload_bytes
    into v_twin
    from rolecall.tasks as task
    join rolecall.lines as line on line.id = task.line_id
    join rolecall.roles as role on role.name = line.role
    where task.id = p_id and task.fence = 0
    for update of task;
    if not found then
        return false;
    end if;
    select draft.payload, draft.due, coalesce(draft.priority, p_place.priority, 0) as priority into v_draft
    from rolecall.read_drafts(jsonb_build_array(p_task), v_now) as draft;
    v_turn := greatest(v_draft.due, v_now);
    if v_merges then
        v_draft.payload := rolecall.merge_payloads(v_twin.payload, v_draft.payload, p_task -> 'dedupe' -> 'merge');
        v_draft.priority := greatest(v_draft.priority, v_twin.priority);
        if octet_length(v_draft.payload::text) > v_twin.max_payload_bytes then
            perform rolecall.refuse('RC040', format('the merged payload of task %s has %s bytes, the role allows %s',
                p_id, octet_length(v_draft.payload::text), v_twin.max_payload_bytes));
        end if;
    end if;
    v_line_id := rolecall.find_or_add_line(v_twin.role, v_twin.handler, v_draft.priority, v_twin.never_ahead, '{}');
    update rolecall.tasks as task
    set payload = v_draft.payload, scheduled_for = v_turn, parked = false, line_id = v_line_id
    where task.id = p_id;
    if v_turn <= v_now then
        perform rolecall.wake_lines(array[v_line_id]);
    elsif v_twin.key is not null then
        -- It may have been the one whose turn with the key it was.
        perform rolecall.require_read_committed();
        perform rolecall.unpark_heads(array[v_twin.key]);
    end if;
    return true;
end
$$;
