-- Chains: each has the status and result of its last task and the payload of its first.
-- returns: one row per chain
-- public: yes
create or replace view rolecall.chains with (security_invoker = true) as
select
    first.id, line.role, line.handler, last.state, last.status, last.finished_at is null as open,
    last.chain_index + 1 as length, last.id as last_id, last.handler as last_handler,
    first.payload, last.result, last.error, first.created_at, last.finished_at, first.origin_id,
    first.parent_id
from (
    select id, line_id, payload, created_at, origin_id, parent_id, false as continued
    from rolecall.tasks
    where chain_index = 0
    union all
    select id, line_id, payload, created_at, origin_id, parent_id, continued
    from rolecall.finished_tasks
    where chain_index = 0
) as first
join rolecall.lines as line on line.id = first.line_id
cross join lateral (
    select case when first.continued then coalesce(
        (select task.id from rolecall.tasks as task where task.chain_id = first.id and task.chain_index > 0),
        (
            select task.id from rolecall.finished_tasks as task
            where task.chain_id = first.id and task.chain_index > 0
            order by task.chain_index desc
            limit 1
        ),
        first.id
    ) else first.id end as id
    offset 0
) as reached
-- Looks up each by its id: a join would read all tasks.
cross join lateral (select * from rolecall.all_tasks as task where task.id = reached.id offset 0) as last;
