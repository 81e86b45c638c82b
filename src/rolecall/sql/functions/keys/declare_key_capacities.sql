-- Makes known what an app says of its keys: an object of patterns and capacities. What somebody has set goes
-- before it. What is known already writes and locks nothing.
-- raises: RC041 no such pattern or capacity; RC050 wrong isolation level
-- locks: of what changes: keys rows in key order, those of keys in use that a pattern fits too; patterns;
-- then the parked tasks in id order
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.declare_key_capacities(p_capacities jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_new record;
    v_changed text[];
begin
    perform rolecall.require_read_committed();
    perform rolecall.check_key_capacity(said.pattern, coalesce(said.capacity::int, 0))
    from jsonb_each_text(p_capacities) as said (pattern, capacity);
    v_changed := array(
        select said.pattern from jsonb_each_text(p_capacities) as said (pattern, capacity)
        left join rolecall.keys as lock on lock.key = said.pattern
        left join rolecall.key_patterns as pattern on pattern.prefix = rolecall.key_prefix(said.pattern)
        where said.capacity::int is distinct from coalesce(lock.declared, pattern.declared)
        order by said.pattern collate "C"
    );
    if v_changed = '{}' then
        return;
    end if;
    -- All at once, in one order: use_room locks keys that stand before those that the loop has changed.
    perform from rolecall.keys as lock
    where lock.key = any(rolecall.keys_meant(v_changed))
    order by lock.key
    for update;
    for v_new in
        select changed.pattern, rolecall.key_prefix(changed.pattern) as prefix,
            (p_capacities ->> changed.pattern)::int as capacity
        from unnest(v_changed) as changed (pattern)
    loop
        if v_new.prefix is null then
            perform rolecall.give_key_row(v_new.pattern);
            update rolecall.keys set declared = v_new.capacity where key = v_new.pattern;
        else
            insert into rolecall.key_patterns (prefix, declared) values (v_new.prefix, v_new.capacity)
            on conflict (prefix) do update set declared = excluded.declared;
        end if;
    end loop;
    perform rolecall.use_room(v_changed);
end
$$;
