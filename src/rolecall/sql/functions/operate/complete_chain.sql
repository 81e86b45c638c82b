-- Completes the task with which a chain stands open, without a worker; with a continuation the chain goes on.
-- returns: completed, finished (the chain had ended before), missing
-- raises: as end_from_outside
-- locks: as end_from_outside does
-- notifies: as end_from_outside does
-- public: yes
create or replace function rolecall.complete_chain(
    p_chain_id bigint, p_result jsonb default null, p_next jsonb default null
)
returns text
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_outcome text;
begin
    -- A task that has ended before its turn may have been continued: the next one is the chain's end now.
    loop
        v_outcome := rolecall.complete_task(
            coalesce(rolecall.open_end_of_chain(p_chain_id), p_chain_id), p_result, p_next
        );
        exit when v_outcome <> 'finished' or rolecall.open_end_of_chain(p_chain_id) is null;
    end loop;
    return v_outcome;
end
$$;
