-- Notifies idle workers that could run newly due tasks (p_line_ids has the line of each). If no worker is
-- idle, sends no NOTIFY, which would take a lock at the commit.
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

-- Notifies idle workers that could run p_tasks newly due tasks of a role and handler: one more than there
-- are tasks, chosen at random, because a notification to all would make a whole fleet claim at once.
-- notifies: rolecall_wake with the role and the chosen workers (mail:7,12), or with the role alone for all
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
    -- Marks of live workers end four to five minutes from now. Earlier ones, of dead workers, come last.
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

-- Called by a notified worker without a free slot: removes its idle mark and wakes other idle workers for
-- the due tasks, as an enqueue does.
-- locks: the worker's marks
-- notifies: rolecall_wake, if an idle worker waits for one of the next tasks
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
            (p_worker_id, p_roles, p_handlers, false, 1, null)::rolecall.claim_terms, v_now
        ) as line
    );
    perform rolecall.renew_floors(v_lines, v_now);
    -- Workers for tasks after the first twenty are woken by the claims of those.
    perform rolecall.wake_lines(array(
        select share.line_id
        from rolecall.share_out(v_lines, 20, '{}', v_now) as share
        cross join generate_series(1, share.number)
    ));
end
$$;

-- Marks a worker as idle for five minutes, unless it is marked for nearly as long, or removes its mark.
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

-- Records whether a worker waits for work and wants notifications. Within a second after the mark was set,
-- it is not removed, because each change is a write, and an unnecessary notification costs less.
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

-- Records for five minutes that a dispatcher listens for every enqueue. It dispatches tasks to workers that
-- have no idle marks. All dispatchers share one mark, of worker 0, which is for all handlers, including
-- later ones.
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
