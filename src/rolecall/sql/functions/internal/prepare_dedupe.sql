-- Prepares a batch with drafts that say how their dedupe keys are to be treated: what is checked within a window is checked by
-- one session at a time.
-- returns: the positions (from 1) of drafts that an earlier one of the batch has the key of; they come after it is stored
-- raises: nothing
-- locks: a number for each windowed dedupe key, in order, until the transaction ends
-- notifies: nothing
create or replace function rolecall.prepare_dedupe(p_tasks jsonb)
returns bigint[]
language plpgsql
volatile
set search_path = ''
as $$
begin
    -- A thousand numbers keep the locks few, however long the batch.
    perform pg_advisory_xact_lock(7246927, slot.number)
    from (
        select distinct hashtext(rolecall.full_dedupe_key(draft)) & 1023 as number
        from jsonb_array_elements(p_tasks) as draft
        where draft -> 'dedupe' ->> 'scope' = 'any' and draft ->> 'dedupe_key' is not null
        order by number
    ) as slot;
    return array(
        select item.n
        from (
            select n, row_number() over (partition by rolecall.full_dedupe_key(draft) order by n) as turn
            from jsonb_array_elements(p_tasks) with ordinality as given (draft, n)
            where rolecall.full_dedupe_key(draft) is not null
        ) as item
        where item.turn > 1
    );
end
$$;
