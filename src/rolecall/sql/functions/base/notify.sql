-- Notifies, unless the caller has said `set local rolecall.notify = off`: a transaction that has notified can
-- not be prepared for a two-phase commit. What is not said so is found by the next poll.
-- raises: 22P02 for a setting that is neither on nor off
-- notifies: the channel
create or replace function rolecall.notify(p_channel text, p_payload text)
returns void
language sql
volatile
set search_path = ''
as $$
    select pg_notify(p_channel, p_payload)
    where coalesce(nullif(current_setting('rolecall.notify', true), '')::boolean, true)
$$;
