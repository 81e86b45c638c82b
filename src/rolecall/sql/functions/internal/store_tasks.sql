-- Stores a batch of tasks, each in the place given for it, else as the first of its own chain. Where a task with the same handler
-- and dedupe_key stands for a new one, the new one's dedupe mode decides.
-- returns: one row: the ids in input order, and which of them already stood
-- raises: RC031 unknown role, RC040 invalid task or need, RC045 a dedupe_key that is to be new
-- locks: windowed dedupe keys; dedupe keys in their order, waiting for an uncommitted task with the same one; what `hold_tasks`
--        locks, of tasks to change; then needed tasks, children before parents; last the history of the schedules that made the makers
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.store_tasks(p_tasks jsonb, p_places rolecall.place[])
returns table (ids bigint[], deduplicated bigint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_later bigint[] := '{}';
    v_stored record;
    v_met record;
    v_needy jsonb;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' then
        perform rolecall.refuse('RC040', 'a batch of tasks is an array of objects');
    end if;
    if p_tasks @? '$[*].dedupe' then
        v_later := rolecall.prepare_dedupe(p_tasks);
    end if;
    select * into v_stored from rolecall.insert_tasks(p_tasks, p_places, v_later);
    ids := coalesce(v_stored.ids, '{}');
    deduplicated := '{}';
    v_needy := v_stored.needy;
    if v_stored.refused is not null then
        select * into v_met from rolecall.meet_twins(p_tasks, p_places, v_stored.refused, ids);
        ids := v_met.ids;
        deduplicated := v_met.deduplicated;
        v_needy := coalesce(v_needy || v_met.needy, v_needy, v_met.needy);
    end if;
    if v_needy is not null then
        perform rolecall.link_needs(v_needy, ids);
    end if;
    if p_places is not null then
        perform rolecall.note_generated(p_places, ids, deduplicated);
    end if;
    return next;
end
$$;
