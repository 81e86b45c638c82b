-- Forgets the bins of the history that are older than their width is kept.
-- returns: how many
-- raises: nothing
-- locks: bins
-- notifies: nothing
create or replace function rolecall.prune_history(p_now timestamptz)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_gone bigint;
begin
    delete from rolecall.history as old
    using rolecall.history_tiers() as tier
    where old.width = tier.width and old.at < p_now - tier.kept;
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
