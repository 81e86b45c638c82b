-- Locks the open task of a chain, and the open tasks below it, until the transaction ends: no worker can
-- claim or finish it in the meantime, and the holder can finish it in any open state.
-- returns: its id; null if the chain has finished
-- raises: RC006 no such chain; RC050 wrong isolation level; RC051 another transaction holds rows that it
-- needs
-- locks: the trees of that task
-- public: yes
create or replace function rolecall.hold_chain(p_chain_id bigint)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
    v_began constant timestamptz := clock_timestamp();
    v_id bigint;
begin
    perform rolecall.require_read_committed();
    loop
        v_id := rolecall.open_end_of_chain(p_chain_id);
        exit when v_id is null;
        begin
            if v_id = any(rolecall.hold_trees(array[v_id])) then
                return v_id;
            end if;
        exception when lock_not_available or deadlock_detected or sqlstate 'RC090' then
            perform rolecall.wait_a_while(v_began);
        end;
    end loop;
    if not exists (select from rolecall.chains as chain where chain.id = p_chain_id) then
        raise exception using errcode = 'RC006', detail = p_chain_id::text,
            message = format('there is no chain %s', p_chain_id);
    end if;
    return null;
end
$$;
