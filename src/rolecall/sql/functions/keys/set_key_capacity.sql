-- Says how many tasks of a key may run at once, or of all keys that begin alike ('tenant:*'); null takes that
-- back, so that what an app declares holds again, else one. Tasks that run beyond a smaller capacity go on;
-- what was parked comes back where there is room now.
-- raises: RC041 no such pattern or capacity; RC050 wrong isolation level
-- locks: the row of the key or the pattern; keys rows in key order; then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.set_key_capacity(p_pattern text, p_capacity int)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_prefix text := rolecall.key_prefix(p_pattern);
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    perform rolecall.check_key_capacity(p_pattern, p_capacity);
    if v_prefix is null then
        if p_capacity is not null then
            perform rolecall.give_key_row(p_pattern);
        end if;
        update rolecall.keys set capacity = p_capacity where key = p_pattern;
    elsif p_capacity is not null then
        insert into rolecall.key_patterns (prefix, capacity) values (v_prefix, p_capacity)
        on conflict (prefix) do update set capacity = excluded.capacity;
    else
        delete from rolecall.key_patterns where prefix = v_prefix and declared is null;
        update rolecall.key_patterns set capacity = null where prefix = v_prefix;
    end if;
    perform rolecall.use_room(array[p_pattern]);
end
$$;
