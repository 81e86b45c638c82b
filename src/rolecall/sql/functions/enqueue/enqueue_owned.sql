-- Stores one task with its owner and title. An existing task keeps its owner.
-- returns: the task's id
-- raises: as store_tasks
-- locks: as enqueue_many
-- notifies: rolecall_wake, if an idle worker waits for the role
-- public: yes
create or replace function rolecall.enqueue_owned(p_task jsonb, p_owner text, p_title text)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := (select batch.ids[1] from rolecall.enqueue_many(jsonb_build_array(p_task)) as batch);
begin
    insert into rolecall.task_owners (task_id, owner, title) values (v_id, p_owner, p_title)
    on conflict (task_id) do nothing;
    return v_id;
end
$$;
