-- The change log: the stores whose statistics are out of date.

create unlogged table storecrawl.product_changes (
    stores int8multirange not null
);

comment on table storecrawl.product_changes is
    'Stores changed by committed statements since the last round, as ranges of ids. An empty range only '
    'updates the views.';

create unlogged table storecrawl.change_log_mark (
    set_at timestamptz not null default clock_timestamp()
);

comment on table storecrawl.change_log_mark is
    'One row while the log is complete. A server crash empties it with the log, and the next round '
    'counts everything.';

create unique index there_is_one_mark on storecrawl.change_log_mark ((true));

-- One round runs at a time. The role is declared here, since triggers enqueue its tasks before the first
-- worker starts.
select rolecall.declare(
    '[{"name": "analytics_refresh", "one_root": true}]',
    '[{"name": "collect_changes", "role": "analytics_refresh"}]'
);

-- Enqueue a round once per transaction, at its commit, so that no transaction waits for another's refresh.
-- A merged round is not claimed before that commit: scope pending.
-- locks: the task's dedupe key, or the merged task
create function storecrawl.ask_for_round()
returns trigger
language plpgsql
as $$
declare
    v_transaction text := pg_current_xact_id()::text;
begin
    if current_setting('storecrawl.asked_for_round', true) is not distinct from v_transaction then
        return null;
    end if;
    perform set_config('storecrawl.asked_for_round', v_transaction, true);
    perform rolecall.enqueue_many(jsonb_build_array(jsonb_build_object(
        'role', 'analytics_refresh', 'handler', 'collect_changes', 'payload', jsonb_build_object(),
        'dedupe_key', 'changes', 'dedupe', jsonb_build_object('scope', 'pending'),
        'scheduled_for', (select greatest(rolecall.clock(), next_round_at) from storecrawl.derivation)
    )));
    return null;
end
$$;

create constraint trigger ask_for_round after insert on storecrawl.product_changes
deferrable initially deferred for each row execute function storecrawl.ask_for_round();

-- An option deleted together with its product has no store here. The product's own trigger logs the store.
create function storecrawl.log_changes(p_stores bigint[])
returns void
language sql
as $$
    insert into storecrawl.product_changes (stores)
    select range_agg(int8range(store_id, store_id, '[]'))
    from unnest(p_stores) as store_id
    where store_id is not null
    having count(*) > 0
$$;

create function storecrawl.log_products()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(select distinct store_id from touched));
    return null;
end
$$;

-- A join of the two transition tables would keep the plan for small tables.
create function storecrawl.log_changed_products()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(
        select distinct store_id
        from (
            select id, store_id, brand_id, category, availability, in_stock from new_rows
            except
            select id, store_id, brand_id, category, availability, in_stock from old_rows
        ) as different
    ));
    return null;
end
$$;

create function storecrawl.log_variants()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(
        select distinct (select store_id from storecrawl.products where id = product_id)
        from (select distinct product_id from touched) as different
    ));
    return null;
end
$$;

create function storecrawl.log_changed_variants()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array(
        select distinct (select store_id from storecrawl.products where id = product_id)
        from (
            select
                id, product_id, listed, price_changes,
                price_rec_cents, price_med_cents, special_rec_cents, special_med_cents
            from new_rows
            except
            select
                id, product_id, listed, price_changes,
                price_rec_cents, price_med_cents, special_rec_cents, special_med_cents
            from old_rows
        ) as different
    ));
    return null;
end
$$;

create function storecrawl.log_for_views()
returns trigger
language plpgsql
as $$
begin
    insert into storecrawl.product_changes (stores) values ('{}');
    return null;
end
$$;

create function storecrawl.log_dark_store()
returns trigger
language plpgsql
as $$
begin
    perform storecrawl.log_changes(array[new.id]);
    return null;
end
$$;

create trigger log_new_products after insert on storecrawl.products
referencing new table as touched for each statement execute function storecrawl.log_products();
create trigger log_deleted_products after delete on storecrawl.products
referencing old table as touched for each statement execute function storecrawl.log_products();
create trigger log_changed_products after update on storecrawl.products
referencing old table as old_rows new table as new_rows
for each statement execute function storecrawl.log_changed_products();
create trigger log_new_variants after insert on storecrawl.variants
referencing new table as touched for each statement execute function storecrawl.log_variants();
create trigger log_deleted_variants after delete on storecrawl.variants
referencing old table as touched for each statement execute function storecrawl.log_variants();
create trigger log_changed_variants after update on storecrawl.variants
referencing old table as old_rows new table as new_rows
for each statement execute function storecrawl.log_changed_variants();
create trigger log_applied_payloads after update of applied_at on storecrawl.payloads
for each statement execute function storecrawl.log_for_views();
create trigger log_dark_stores after update of dark_since on storecrawl.stores
for each row when (old.dark_since is distinct from new.dark_since)
execute function storecrawl.log_dark_store();
create trigger log_stores after insert or update of state on storecrawl.stores
for each statement execute function storecrawl.log_for_views();
