-- Records which handlers a worker can run.
-- locks: the workers row
-- public: yes
create or replace function rolecall.serve(p_worker_id bigint, p_handlers text[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.require_durability();
    select rolecall.require_own_worker(p_worker_id);
    update rolecall.idle_marks set handlers = p_handlers
    where worker_id = p_worker_id and until > rolecall.clock();
    update rolecall.workers set handlers = p_handlers where id = p_worker_id and handlers <> p_handlers
$$;
