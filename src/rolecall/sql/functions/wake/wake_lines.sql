-- Notifies, for tasks that have become due in some lines (one line a task), idle workers that could run them:
-- one more than there are tasks, chosen by chance, as a notification to all would have a fleet claim at once.
-- Where nobody is idle there is no NOTIFY, which takes a lock at the commit.
-- notifies: rolecall_wake with the role and the workers that are to look (mail:7,12), or with the role alone
-- where all are to
create or replace function rolecall.wake_lines(p_line_ids int[])
returns void
language sql
volatile
set search_path = ''
set jit = off
set enable_seqscan = off
as $$
    select rolecall.notify('rolecall_wake', woken.role || case
        when cardinality(woken.ids) = woken.number then ':' || array_to_string(woken.ids, ',') else ''
    end)
    from (
        select due.role, due.number, array(
            select mark.worker_id
            from unnest(array[due.role, '']) as served (role)
            cross join lateral (
                (
                    select mark.worker_id, 0 as round from rolecall.idle_marks as mark
                    where mark.role = served.role and mark.until >= due.chance
                        and due.handler = any(mark.handlers)
                    order by mark.until
                    limit least(due.number, 20)
                )
                union all
                (
                    select mark.worker_id, 1 from rolecall.idle_marks as mark
                    where mark.role = served.role and mark.until > due.now and mark.until < due.chance
                        and due.handler = any(mark.handlers)
                    order by mark.until desc
                    limit least(due.number, 20)
                )
            ) as mark
            order by mark.round
            limit least(due.number, 20)
        ) as ids
        from (
            select line.role, line.handler, given.now, given.number + 1 as number,
                -- Marks of workers that live end four to five minutes from now; those of dead ones, before
                -- that, come last.
                given.now + interval '4 min' + random() * interval '1 min' as chance
            from (
                select line_id, count(*) as number, rolecall.clock() as now
                from unnest(p_line_ids) as line_id
                group by line_id
            ) as given
            join rolecall.lines as line on line.id = given.line_id
        ) as due
    ) as woken
    where woken.ids <> '{}'
$$;
