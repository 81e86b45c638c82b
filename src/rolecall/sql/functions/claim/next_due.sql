-- Returns how long a worker of the given roles and handlers may sleep until the earliest pending task is
-- due. Like a claim, skips tasks below this session's watermarks while looking there is expensive.
-- returns: seconds; 0 if a task is due, null if none is pending
-- public: yes
create or replace function rolecall.next_due(p_roles text[], p_handlers text[])
returns float8
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.next_due_for(null, p_roles, p_handlers)
$$;

-- Returns how long a worker may sleep until the earliest pending task of the given roles and handlers is
-- due that is compatible with it (null: with any worker). Like a claim, skips tasks below this session's
-- watermarks while looking there is expensive.
-- returns: seconds; 0 if a task is due, null if none is pending
-- public: yes
create or replace function rolecall.next_due_for(p_worker_id bigint, p_roles text[], p_handlers text[])
returns float8
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select greatest(
        extract(epoch from min(head.scheduled_for) - rolecall.clock()), case when count(*) > 0 then 0 end
    )::float8
    from rolecall.open_lines_of(
        (p_worker_id, p_roles, p_handlers, false, 1, null)::rolecall.claim_terms, rolecall.clock()
    ) as line
    cross join lateral rolecall.line_floor(line.line_id) as floor
    cross join lateral (
        select task.scheduled_for
        from rolecall.tasks as task
        where task.line_id = line.line_id and task.state = 'pending' and not task.parked
            and (task.expires_at <= rolecall.clock()) is not true
            and task.scheduled_for >= case
                when floor.look_below_at > clock_timestamp() + interval '1 s' then floor.scheduled_for
                else '-infinity'
            end
        order by task.scheduled_for
        limit 1
    ) as head
$$;
