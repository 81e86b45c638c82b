-- Two million finished tasks of the last week and a hundred thousand open ones, inserted directly into the tables: every tenth
-- failed or cancelled, chains of five, parents of ten and twenty, keys of five thousand stores. Ids begin at 1,000,000.
create temporary table lane as
select row_number() over (order by name) - 1 as number, role, name as handler from rolecall.handlers where role like 'crew-%';

select rolecall.find_or_add_line(role, handler, 0, false, '{}') from lane;

alter table lane add line_id int;

update lane set line_id = (select min(id) from rolecall.lines where lines.role = lane.role and lines.handler = lane.handler);

select rolecall.make_partition('finished_tasks', 'finished_at', rolecall.clock()::date - day),
    rolecall.make_partition('task_events', 'at', rolecall.clock()::date - day)
from generate_series(1, 7) as day;

insert into rolecall.finished_tasks (
    id, chain_id, created_at, scheduled_for, claimed_at, started_at, finished_at, worker_id, line_id, chain_index, fence, attempt,
    max_attempts, state, key, payload, result, error, parent_id, parent_fence, depth, continued
)
select
    id, id - step, at - wait - run, at - wait - run, at - run, at - run, at, 1 + n % 400, line_id, step, 1, 1, 5,
    (case when n % 50 = 7 then 'failed' when n % 50 = 8 then 'cancelled' else 'completed' end)::rolecall.task_state,
    case when n % 2 = 0 then 'store:' || n % 5000 end,
    jsonb_build_object('store', n % 5000, 'page', n % 17, 'url', 'https://shop.example/menus/' || n % 5000),
    case when n % 50 not in (7, 8) then jsonb_build_object('found', n % 300) end,
    case when n % 50 = 7 then 'Refused: ' || case n % 3 when 0 then '429 too many requests' else '503 try again later' end end,
    case when n % 100 between 51 and 70 then id - n % 100 + 50 end, case when n % 100 between 51 and 70 then 1 end,
    case when n % 100 between 51 and 70 then 1 end, case when n % 100 < 4 then true end
from (
    select n, 1000000 + n as id, line_id, case when n % 100 < 5 then n % 100 else 0 end as step,
        rolecall.clock() - interval '10 s' - interval '7 days' * (1 - n / 2000000.0) as at,
        interval '1 ms' * (n * 7919 % 30000) as wait, interval '1 ms' * (n * 104729 % 4000) as run
    from generate_series(1::bigint, 2000000) as n
    join lane on number = n * 31 % (select count(*) from lane)
) as made;

insert into rolecall.task_events (task_id, at, kind, attempt, worker_id, detail)
select 1000000 + n, rolecall.clock() - interval '10 s' - interval '7 days' * (1 - n / 2000000.0), 'attempt_failed', 1, 1 + n % 400,
    'Refused: 429 too many requests'
from generate_series(9::bigint, 2000000, 10) as n;

insert into rolecall.keys (key) select 'store:' || n from generate_series(0, 4999) as n on conflict do nothing;

insert into rolecall.tasks (id, chain_id, created_at, scheduled_for, line_id, payload, key)
select
    3000000 + n, 3000000 + n, at, at + case when n % 5 = 4 then interval '1 s' * (3600 + n % 86400) else interval '0 s' end, line_id,
    jsonb_build_object('store', n % 5000, 'page', n % 17), case when n % 2 = 0 then 'store:' || n % 5000 end
from generate_series(1::bigint, 100000) as n
join lane on number = n * 31 % (select count(*) from lane)
cross join lateral (select rolecall.clock() - interval '1 s' * (n % 7200) as at) as moment;

select setval(pg_get_serial_sequence('rolecall.tasks', 'id'), 4000000);

insert into rolecall.workers (name, roles, handlers, slots, started_at, heartbeat_at, stopped_at, host, pid, version)
select 'crew-' || n, array['crew-' || n % 8], '{}', 8, at, at + interval '5 h', at + interval '5 h', 'host-' || n % 40, n, '0.9.1'
from generate_series(1, 3000) as n
cross join lateral (select rolecall.clock() - interval '6 days' + interval '2 min' * n as at) as moment;

insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed, task_id, generated)
select schedules.id, at, at, 'enqueued', 0, 1000000 + n, 1
from rolecall.schedules cross join generate_series(1, 2000) as n
cross join lateral (select rolecall.clock() - interval '5 min' * n as at) as moment;

insert into rolecall.audit_log (at, actor, via, action, detail, outcome)
select rolecall.clock() - interval '20 s' * n, 'ada', 'dashboard', 'tasks.retry', jsonb_build_object('ids', jsonb_build_array(n)), '{}'
from generate_series(1, 30000) as n
