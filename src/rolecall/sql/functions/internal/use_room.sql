-- Brings back what is parked of the keys that a pattern fits, where they have room since their capacity has changed. Only what runs
-- keeps a key's tasks parked, so the keys of the others are not looked at.
-- returns: nothing
-- raises: nothing
-- locks: those keys rows in key order, waiting; then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.use_room(p_pattern text)
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_prefix text := rolecall.key_prefix(p_pattern);
    v_busy text[] := array(
        select distinct holder.key from rolecall.tasks as holder
        where holder.key_slot is not null and (holder.key = p_pattern or starts_with(holder.key, v_prefix))
    );
begin
    perform rolecall.unpark_heads(array(select distinct head.key from rolecall.parked_heads(v_busy) as head));
end
$$;
