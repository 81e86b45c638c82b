-- Takes the due tasks of keys without room out of the claim's way; who frees a key brings them back, best first. A task that
-- is due later stays where it is: brought back as the best of all, it would keep the due ones waiting for its hour.
-- returns: false when more was to be parked than one call does
-- raises: nothing
-- locks: the caller holds the keys; tasks rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.park_losers(p_keys text[], p_winners bigint[], p_now timestamptz)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Bounds the time of one claim: 5,000 rows take about a twentieth of a second.
    v_bound constant int := 5000;
    v_losers bigint[] := array(
        (
            select task.id from rolecall.tasks as task
            where task.key = any(p_keys) and task.state = 'pending' and task.parked is not true and task.key_slot is null
                and task.scheduled_for <= p_now
            limit v_bound + cardinality(p_winners)
        )
        -- Not a join: of arrays the planner expects ten, and would compare a thousand losers with a thousand winners each.
        except
        select winner from unnest(p_winners) as winner
    );
begin
    if v_losers <> '{}' then
        update rolecall.tasks as loser
        set parked = true
        where loser.id = any(array(
            select task.id from rolecall.tasks as task
            where task.id = any(v_losers) and task.state = 'pending' and task.key_slot is null
            for update skip locked
        ));
    end if;
    return cardinality(v_losers) < v_bound;
end
$$;
