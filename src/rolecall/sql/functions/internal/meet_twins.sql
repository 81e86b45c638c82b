-- Brings drafts together with the tasks that stand for them, one after the other, in the order of the positions.
-- returns: one row: the batch's ids with those filled in, which of them already stood, and what stored ones need
-- raises: RC031 unknown role, RC040 payloads that cannot be merged, RC045 a dedupe_key that is to be new
-- locks: what `hold_tasks` locks, of tasks to change; dedupe keys, waiting for an uncommitted task with the same one
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.meet_twins(p_tasks jsonb, p_places rolecall.place[], p_positions bigint[], p_ids bigint[])
returns table (ids bigint[], deduplicated bigint[], needy jsonb)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_twin record;
    v_met record;
begin
    ids := p_ids;
    deduplicated := '{}';
    perform rolecall.hold_twins(p_tasks, p_positions, p_places);
    for v_twin in select * from rolecall.plain_twins(p_tasks, p_positions) loop
        if v_twin.id is not null then
            ids[v_twin.n] := v_twin.id;
            deduplicated := deduplicated || v_twin.id;
            continue;
        end if;
        select * into v_met from rolecall.find_or_insert(p_tasks -> (v_twin.n - 1)::int, v_twin.n, p_places[v_twin.n]);
        ids[v_twin.n] := v_met.id;
        needy := coalesce(needy || v_met.needy, needy, v_met.needy);
        if v_met.stood then
            deduplicated := deduplicated || v_met.id;
        end if;
    end loop;
    return next;
end
$$;
