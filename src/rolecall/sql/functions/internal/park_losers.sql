-- Takes the due tasks of keys without room out of the claim's way; who frees a key brings them back, best first. A task that
-- is due later stays where it is: brought back as the best of all, it would keep the due ones waiting for its hour.
-- returns: false when more was to be parked than one call does, or a key was locked by somebody else
-- raises: nothing
-- locks: tasks rows and keys rows, skipping locked ones
-- notifies: nothing
create or replace function rolecall.park_losers(p_keys text[], p_winners bigint[])
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- Bounds the time of one claim: 5,000 rows take about a twentieth of a second.
    v_bound constant int := 5000;
    v_now timestamptz := rolecall.clock();
    v_locked text[];
    v_full text[];
    v_parked int;
begin
    v_locked := array(select key from rolecall.keys where key = any(p_keys) for update skip locked);
    v_full := array(
        select lock.key from rolecall.keys as lock
        where lock.key = any(v_locked)
            and lock.capacity <= (
                select count(*) from rolecall.tasks as holder
                where holder.key = lock.key and (holder.key_slot is not null or holder.id = any(p_winners))
            )
    );
    update rolecall.tasks as loser
    set parked = true
    where loser.id = any(array(
        select task.id from rolecall.tasks as task
        where task.key = any(v_full) and task.state = 'pending' and task.parked is not true and task.key_slot is null
            and task.scheduled_for <= v_now and task.id <> all(p_winners)
        limit v_bound
        for update skip locked
    ));
    get diagnostics v_parked = row_count;
    return v_parked < v_bound and cardinality(v_locked) = cardinality(p_keys);
end
$$;
