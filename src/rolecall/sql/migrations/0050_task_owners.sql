-- breaking: no
-- Who made a task, and under which title, where somebody asked that it be kept.
create table rolecall.task_owners (
    task_id bigint primary key,
    owner text collate "C" not null,
    title text not null
);
create index task_owners_by_owner on rolecall.task_owners (owner, task_id);
insert into rolecall.retention (kind) values ('task_owners');
-- An API key that a person has made for herself goes with her.
alter table rolecall.api_keys add column person_id bigint references rolecall.people on delete cascade;
create index api_keys_by_person on rolecall.api_keys (person_id) where person_id is not null;
