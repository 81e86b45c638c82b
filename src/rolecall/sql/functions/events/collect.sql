-- Has the calls that follow in this transaction collect what happens to tasks, as far as their own answers do
-- not say it. Undone with a savepoint, as what happened is.
-- public: yes
create or replace function rolecall.collect_events()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform set_config('rolecall.events', '[]', true);
end
$$;

-- Answers what has happened since collect_events, and collects no more. That a task simply completed, as its
-- worker reported, is left to the worker; when a longer chain began it does not know, and asks for that by
-- the ids of the last tasks.
-- returns: an array of events as rolecall.sql.events reads them; null where nothing was collected
-- public: yes
create or replace function rolecall.collected_events(p_ended bigint[] default '{}')
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_events jsonb;
begin
    if p_ended <> '{}' and rolecall.collects_events() then
        perform rolecall.note_ends(array(
            select unnest(p_ended)
            except
            select (known -> 'id')::bigint
            from jsonb_array_elements(current_setting('rolecall.events')::jsonb) as known
            where known ? 'chain_seconds'
        ));
    end if;
    v_events := nullif(current_setting('rolecall.events', true), '');
    perform set_config('rolecall.events', '', true);
    return v_events;
end
$$;
