-- Notifies all idle workers of some roles, where nobody knows how many of them have something to do.
-- notifies: rolecall_wake with each role for which an idle worker waits
create or replace function rolecall.wake(p_roles text[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select rolecall.notify('rolecall_wake', role)
    from unnest(p_roles) as role
    where exists (
        select from unnest(array[role, '']) as served (role)
        join rolecall.idle_marks as mark using (role)
        where mark.until > rolecall.clock()
    )
$$;

-- Notifies, for tasks that have become due in some lines (one line a task), idle workers that could run them.
-- Where nobody is idle there is no NOTIFY, which takes a lock at the commit.
-- notifies: as wake_line
create or replace function rolecall.wake_lines(p_line_ids int[])
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
    select rolecall.wake_line(line.role, line.handler, given.number)
    from (
        select line_id, count(*) as number
        from unnest(p_line_ids) as line_id
        group by line_id
    ) as given
    join rolecall.lines as line on line.id = given.line_id
$$;

-- Notifies, for so many tasks of a role and handler that have become due, idle workers that could run them:
-- one more than there are tasks, chosen by chance, as a notification to all would have a fleet claim at once.
-- notifies: rolecall_wake with the role and the workers that are to look (mail:7,12), or with the role alone
-- where all are to
create or replace function rolecall.wake_line(p_role text, p_handler text, p_tasks bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_number constant bigint := p_tasks + 1;
    v_most constant bigint := least(v_number, 20);
    v_now constant timestamptz := rolecall.clock();
    -- Marks of workers that live end four to five minutes from now; those of dead ones, before that, come
    -- last.
    v_chance constant timestamptz := v_now + interval '4 min' + random() * interval '1 min';
    v_ids bigint[];
begin
    v_ids := array(
        select mark.worker_id
        from unnest(array[p_role, '']) as served (role)
        cross join lateral (
            (
                select mark.worker_id, 0 as round from rolecall.idle_marks as mark
                where mark.role = served.role and mark.until >= v_chance
                    and (p_handler = any(mark.handlers) or mark.worker_id = 0)
                order by mark.until
                limit v_most
            )
            union all
            (
                select mark.worker_id, 1 from rolecall.idle_marks as mark
                where mark.role = served.role and mark.until > v_now and mark.until < v_chance
                    and (p_handler = any(mark.handlers) or mark.worker_id = 0)
                order by mark.until desc
                limit v_most
            )
        ) as mark
        order by mark.round
        limit v_most
    );
    if v_ids <> '{}' then
        perform rolecall.notify('rolecall_wake', p_role || case
            when cardinality(v_ids) = v_number then ':' || array_to_string(v_ids, ',') else ''
        end);
    end if;
end
$$;

-- For a worker that was woken and has no room: takes its idle mark away and wakes other idle workers for what
-- is due, as an enqueue does.
-- locks: the worker's marks
-- notifies: rolecall_wake, where an idle worker waits for one of the next tasks
-- public: yes
create or replace function rolecall.wake_others(p_worker_id bigint, p_roles text[], p_handlers text[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    perform rolecall.require_own_worker(p_worker_id);
    perform rolecall.set_idle_mark(p_worker_id, false);
    v_lines := array(
        select line.line_id
        from rolecall.open_lines_of(
            (p_worker_id, p_roles, p_handlers, false, 1)::rolecall.claim_terms, v_now
        ) as line
    );
    perform rolecall.renew_floors(v_lines, v_now);
    -- Whoever comes after the first twenty is woken by those who claim them.
    perform rolecall.wake_lines(array(
        select share.line_id
        from rolecall.share_out(v_lines, 20, '{}', v_now) as share
        cross join generate_series(1, share.number)
    ));
end
$$;

-- Marks a worker as idle for five minutes, unless it is for nearly so long already, or takes its mark away.
-- locks: the worker's marks
create or replace function rolecall.set_idle_mark(p_worker_id bigint, p_idle boolean)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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

-- Says that a worker waits for work and wants to be notified, or no longer does; which is not heard within a
-- second after the mark, as each is a write, and a notification for nothing costs less.
-- locks: the worker's marks
-- public: yes
create or replace function rolecall.mark_idle(p_worker_id bigint, p_idle boolean)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
    perform rolecall.require_own_worker(p_worker_id);
    if p_idle or not exists (
        select from rolecall.idle_marks as mark
        where mark.worker_id = p_worker_id and mark.until > rolecall.clock() + interval '4 min 59 s'
    ) then
        perform rolecall.set_idle_mark(p_worker_id, p_idle);
    end if;
end
$$;

-- Marks that somebody listens for every enqueue, for five minutes, who is no worker: a dispatcher, which
-- hands tasks to workers that have no idle marks. Any number of them share one mark, as worker 0, which is
-- for all handlers, also those that come later.
-- locks: the mark of worker 0
-- public: yes
create or replace function rolecall.watch()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from rolecall.idle_marks where worker_id = 0;
    insert into rolecall.idle_marks (role, worker_id, handlers, until)
    values ('', 0, '{}', rolecall.clock() + interval '5 min');
end
$$;
