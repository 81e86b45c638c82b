-- Tells workers to ask at once about what they hold: something of it is not theirs any more.
-- notifies: rolecall_cancel with each worker's id
create or replace function rolecall.tell_workers(p_worker_ids bigint[])
returns void
language sql
volatile
set search_path = ''
as $$
    select rolecall.notify('rolecall_cancel', worker.id::text)
    from (select distinct id from unnest(p_worker_ids) as given (id) where id is not null) as worker
$$;
