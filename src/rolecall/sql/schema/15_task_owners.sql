-- Who made a task, and under which title, where somebody asked that it be kept; a row of its own, so that the
-- tasks themselves stay narrow. It is forgotten after its task.
create table rolecall.task_owners (
    task_id bigint primary key,
    owner text collate "C" not null,
    title text not null
);
create index task_owners_by_owner on rolecall.task_owners (owner, task_id);
