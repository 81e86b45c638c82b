-- Stores log lines of attempts. Each part is an object: task_id, fence, attempt, part, and lines, an array of
-- arrays (see the table). A part that exists already is replaced: so a worker repeats a write, and renews the
-- last lines of an attempt.
-- locks: task_logs rows, in order
-- public: yes
create or replace function rolecall.write_logs(p_parts jsonb)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into rolecall.task_logs (task_id, fence, part, attempt, at, lines)
    select part.task_id, part.fence, part.part, part.attempt, rolecall.clock(), part.lines
    from jsonb_to_recordset(p_parts) as part (
        task_id bigint, fence int, part int, attempt int, lines jsonb
    )
    order by part.task_id, part.fence, part.part
    on conflict (task_id, fence, part) do update set at = excluded.at, lines = excluded.lines
$$;
