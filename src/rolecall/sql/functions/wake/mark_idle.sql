-- Says that a worker waits for work and wants to be notified, or no longer does; which is not heard within a
-- second after the mark, as each is a write, and a notification for nothing costs less.
-- locks: the worker's marks
-- public: yes
create or replace function rolecall.mark_idle(p_worker_id bigint, p_idle boolean)
returns void
language plpgsql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
begin
    if p_idle or not exists (
        select from rolecall.idle_marks as mark
        where mark.worker_id = p_worker_id and mark.until > rolecall.clock() + interval '4 min 59 s'
    ) then
        perform rolecall.set_idle_mark(p_worker_id, p_idle);
    end if;
end
$$;
