-- Starts collecting events in this transaction: what later calls do to tasks and do not report in their
-- results. A rollback to a savepoint also discards the events collected since.
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

-- Returns the events since collect_events and stops collecting. Plain completions that a worker reported
-- are omitted, because the worker emits them. It does not know when a longer chain began, and requests
-- those by the ids of the chains' last tasks (p_ended).
-- returns: an array of events as rolecall.sql.events reads them; null if nothing was collected
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
