-- The needs of tasks: other tasks, or whole chains, by the id of their first task. The rows are kept, so
-- that the task can read the results in the order in which it declared its needs.
create table rolecall.needs (
    task_id bigint not null,
    position int not null,
    name text,
    needed_id bigint not null,
    whole_chain boolean not null,
    on_failure rolecall.need_rule not null,
    outcome rolecall.task_state,
    constraint one_need_per_position primary key (task_id, position),
    constraint names_of_needs_are_distinct unique (task_id, name)
);
create index needs_by_needed on rolecall.needs (needed_id);
