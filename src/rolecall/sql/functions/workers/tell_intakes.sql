-- Says which payloads a worker's handlers take, before its first claim: tasks that have not fitted one of
-- these are not offered to it.
-- locks: the workers row
-- public: yes
create or replace function rolecall.tell_intakes(p_worker_id bigint, p_intakes text[])
returns void
language sql
volatile
set search_path = ''
as $$
    update rolecall.workers set intakes = p_intakes where id = p_worker_id
$$;
