-- Changes the state of an error group: new, muted or resolved.
-- returns: the earlier state; null if there is no such group
-- locks: the error_groups row
-- public: yes
create or replace function rolecall.mark_error_group(p_id bigint, p_state text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_before text;
begin
    select known.state into v_before from rolecall.error_groups as known where known.id = p_id for update;
    update rolecall.error_groups as known
    set state = p_state, state_at = rolecall.clock()
    where known.id = p_id and known.state <> p_state;
    return v_before;
end
$$;
