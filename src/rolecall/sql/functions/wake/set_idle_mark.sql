-- Marks a worker as idle for five minutes, unless it is for nearly so long already, or takes its mark away.
-- locks: the worker's marks
create or replace function rolecall.set_idle_mark(p_worker_id bigint, p_idle boolean)
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
declare
    v_now timestamptz := rolecall.clock();
begin
    if p_idle is distinct from true then
        delete from rolecall.idle_marks as mark where mark.worker_id = p_worker_id and mark.until > v_now;
    elsif not exists (
        select
        from rolecall.idle_marks as mark
        where mark.worker_id = p_worker_id and mark.until > v_now + interval '4 min'
    ) then
        delete from rolecall.idle_marks as mark where mark.worker_id = p_worker_id and mark.until > v_now;
        insert into rolecall.idle_marks (role, worker_id, handlers, until)
        select served.role, worker.id, worker.handlers, v_now + interval '5 min'
        from rolecall.workers as worker
        cross join lateral unnest(
            case when worker.roles = '{}' then '{""}' else worker.roles end
        ) as served (role)
        where worker.id = p_worker_id and worker.stopped_at is null;
    end if;
end
$$;
