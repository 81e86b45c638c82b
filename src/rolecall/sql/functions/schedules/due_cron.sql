-- Names the schedules with a cron expression that have come to their next moment: who computes their slots
-- does it from there.
-- returns: one row a schedule, the most overdue first, with the present as the engine's clock shows it
-- public: yes
create or replace function rolecall.due_cron(p_limit int default 100)
returns table (
    id bigint, name text, cron text, zone text, revision int, next_run_at timestamptz, present timestamptz
)
language sql
volatile
set search_path = ''
as $$
    select due.id, due.name, due.cron, due.zone, due.revision, due.next_run_at, moment.present
    from rolecall.schedules as due
    cross join (select rolecall.clock() as present) as moment
    where due.enabled and due.cron is not null and due.next_run_at <= moment.present
    order by due.next_run_at, due.id
    limit p_limit
$$;
