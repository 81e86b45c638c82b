-- Stops a bulk action: it is withdrawn if it has not started, otherwise stopped after the present batch.
-- Tasks that it has changed stay changed.
-- returns: its state before; null if there is no such action
-- locks: the bulk_actions row; waits for the present batch
-- public: yes
create or replace function rolecall.stop_bulk_action(p_id bigint, p_actor text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_before text;
begin
    select bulk.state into v_before from rolecall.bulk_actions as bulk where bulk.id = p_id for update;
    update rolecall.bulk_actions as bulk
    set state = case when v_before = 'waiting' then 'withdrawn' else 'stopped' end,
        next_at = null, finished_at = rolecall.clock(), stopped_by = p_actor
    where bulk.id = p_id and bulk.finished_at is null;
    return v_before;
end
$$;
