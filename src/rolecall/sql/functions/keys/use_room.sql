-- Brings back what is parked of the keys that patterns mean, where they have room since their capacity has
-- changed.
-- locks: those keys rows in key order, waiting; then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.use_room(p_patterns text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform rolecall.unpark_heads(array(
        select distinct head.key from rolecall.parked_heads(rolecall.keys_meant(p_patterns)) as head
    ));
end
$$;
