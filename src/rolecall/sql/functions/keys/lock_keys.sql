-- Locks keys for a claim, which waits for nobody: a key that somebody else holds locked, or that another
-- session is just giving its row, is left out.
-- returns: those that are locked
-- locks: keys rows in key order, skipping locked and unborn ones
create or replace function rolecall.lock_keys(p_keys text[])
returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
    -- A row that nobody else can see yet needs no other lock.
    v_born text[];
begin
    with missing as materialized (
        select wanted.key from unnest(p_keys) as wanted (key)
        where not exists (select from rolecall.keys as known where known.key = wanted.key)
    ),
    born as (
        insert into rolecall.keys (key)
        select missing.key from missing
        -- Two that insert the same row wait for each other. A thousand numbers keep the locks few; a clash
        -- costs one claim's delay.
        where pg_try_advisory_xact_lock(7246926, hashtext(missing.key) & 1023)
        order by missing.key
        on conflict do nothing
        returning key
    )
    select coalesce(array_agg(born.key), '{}') into v_born from born;
    return v_born || array(
        select held.key from rolecall.keys as held
        where held.key = any(array(select unnest(p_keys) except select unnest(v_born)))
        order by held.key
        for update skip locked
    );
end
$$;
