-- The owners and titles of tasks that were enqueued with one; a separate table, so that the task rows stay
-- narrow. A row is pruned after its task.
create table rolecall.task_owners (
    task_id bigint primary key,
    owner text collate "C" not null,
    title text not null
);
create index task_owners_by_owner on rolecall.task_owners (owner, task_id);
