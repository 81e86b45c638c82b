-- Makes known what an app says of its keys: an object of patterns and capacities. What somebody has set goes before it.
-- returns: nothing
-- raises: RC041 no such pattern or capacity; RC050 wrong isolation level
-- locks: what changes: rows of keys and patterns, in their order; keys rows in key order; then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
create or replace function rolecall.declare_key_capacities(p_capacities jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_new record;
begin
    perform rolecall.require_read_committed();
    for v_new in
        select said.pattern, rolecall.key_prefix(said.pattern) as prefix, said.capacity::int as capacity
        from jsonb_each_text(p_capacities) as said (pattern, capacity)
        order by said.pattern collate "C"
    loop
        perform rolecall.check_key_capacity(v_new.pattern, v_new.capacity);
        if v_new.prefix is null then
            insert into rolecall.keys as known (key, declared) values (v_new.pattern, v_new.capacity)
            on conflict (key) do update set declared = excluded.declared where known.declared is distinct from excluded.declared;
        else
            insert into rolecall.key_patterns as known (prefix, declared) values (v_new.prefix, v_new.capacity)
            on conflict (prefix) do update set declared = excluded.declared where known.declared is distinct from excluded.declared;
        end if;
        if found then
            perform rolecall.use_room(v_new.pattern);
        end if;
    end loop;
end
$$;
