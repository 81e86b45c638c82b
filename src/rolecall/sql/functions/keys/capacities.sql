-- Sets the capacity of a key, or of all keys with a prefix ('tenant:*'). Null removes the setting, so that
-- the app's declaration applies again, or the default of 1. A key with the capacity 0 starts no task. Running
-- tasks that exceed a smaller capacity continue. Parked tasks are unparked if there is free capacity now.
-- raises: RC041 invalid pattern or capacity; RC050 wrong isolation level
-- locks: the row of the key or pattern; keys rows in key order; then the parked tasks in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.set_key_capacity(p_pattern text, p_capacity int)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
    v_prefix text := rolecall.key_prefix(p_pattern);
begin
    perform rolecall.require_read_committed();
    perform rolecall.require_durability();
    perform rolecall.check_key_capacity(p_pattern, p_capacity, case when v_prefix is null then 0 else 1 end);
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

-- Stores the key capacities that an app declares: an object of patterns and capacities. Capacities that an
-- operator has set take precedence. Unchanged declarations write and lock nothing.
-- raises: RC041 invalid pattern or capacity; RC050 wrong isolation level
-- locks: for changes: keys rows in key order, including keys in use that match a pattern; patterns; then
-- the parked tasks in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.declare_key_capacities(p_capacities jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_new record;
    v_changed text[];
begin
    perform rolecall.require_read_committed();
    perform rolecall.check_key_capacity(declared.pattern, coalesce(declared.capacity::int, 0), 1)
    from jsonb_each_text(p_capacities) as declared (pattern, capacity);
    v_changed := array(
        select declared.pattern from jsonb_each_text(p_capacities) as declared (pattern, capacity)
        left join rolecall.keys as lock on lock.key = declared.pattern
        left join rolecall.key_patterns as pattern on pattern.prefix = rolecall.key_prefix(declared.pattern)
        where declared.capacity::int is distinct from coalesce(lock.declared, pattern.declared)
        order by declared.pattern collate "C"
    );
    if v_changed = '{}' then
        return;
    end if;
    -- All at once, in key order: use_room locks keys that sort before those that the loop has changed.
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

-- Validates a key, or a pattern with one star at its end, and a capacity of at least p_least.
-- raises: RC041 one of them is invalid
create or replace function rolecall.check_key_capacity(p_pattern text, p_capacity int, p_least int)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_pattern is null or length(p_pattern) not between 1 and 200 then
        perform rolecall.refuse('RC041', 'a key has 1 to 200 characters');
    elsif position('*' in left(p_pattern, -1)) > 0 then
        perform rolecall.refuse(
            'RC041',
            format('%L has a star before its end: a pattern of keys is a beginning and one star', p_pattern)
        );
    elsif p_capacity not between p_least and 32767 then
        perform rolecall.refuse('RC041', format(
            'the capacity of %L is a number from %s to 32767, not %s', p_pattern, p_least, p_capacity
        ));
    end if;
end
$$;

-- Creates the row of a key and locks it, again if retention is just deleting it. A claim that finds the key
-- locked skips it, as it does with another claim: it does not wait for this transaction, which may be a
-- user's own.
-- locks: the keys row
create or replace function rolecall.give_key_row(p_key text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    loop
        perform from rolecall.keys where key = p_key for update;
        exit when found;
        -- The row that lock_keys tries to lock.
        perform from rolecall.latches where kind = 'keys' and number = hashtext(p_key) & 1023 for update;
        insert into rolecall.keys (key) values (p_key) on conflict do nothing;
    end loop;
end
$$;

-- Unparks tasks of the keys that match patterns, if the keys have free capacity after a change.
-- locks: those keys rows in key order, waiting; then the parked tasks in id order
-- notifies: rolecall_wake, if an idle worker waits for the role
create or replace function rolecall.use_room(p_patterns text[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform rolecall.unpark_heads(array(
        select distinct head.key from rolecall.parked_heads(rolecall.keys_meant(p_patterns)) as head
    ));
end
$$;

-- Finds the keys whose free capacity changes with the capacity of patterns: a plain key itself, and for a
-- pattern the matching keys of which a permit is taken, because only those have parked tasks.
-- returns: those keys
create or replace function rolecall.keys_meant(p_patterns text[])
returns text[]
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select array(
        select pattern from unnest(p_patterns) as pattern where rolecall.key_prefix(pattern) is null
        union
        select holder.key from rolecall.tasks as holder
        where holder.key_slot is not null and exists (
            select
            from unnest(p_patterns) as pattern
            where starts_with(holder.key, rolecall.key_prefix(pattern))
        )
    )
$$;

-- Returns the prefix of a key pattern: 'tenant:*' matches all keys that start with 'tenant:', and '*' every
-- key.
-- returns: the prefix; null for a plain key
create or replace function rolecall.key_prefix(p_pattern text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when right(p_pattern, 1) = '*' then left(p_pattern, -1) end
$$;
