-- Adds to one bin of the history what is due and free to run, and what runs. The bin of all roles says that it was counted, whatever
-- was found.
-- returns: nothing
-- raises: nothing
-- locks: the bin
-- notifies: nothing
create or replace function rolecall.count_open(p_width int, p_at timestamptz, p_now timestamptz)
returns void
language sql
volatile
set search_path = ''
as $$
    with counted as (
        select line.role, sum(part.ready)::bigint as ready, sum(part.running)::bigint as running
        from rolecall.backlog(p_now) as part
        join rolecall.lines as line on line.id = part.line_id
        group by line.role
        having sum(part.ready + part.running) > 0
    )
    insert into rolecall.history (role, width, at, samples, ready, running)
    select role, p_width, p_at, 1, ready, running from counted
    union all
    select '', p_width, p_at, 1, coalesce(sum(ready), 0)::bigint, coalesce(sum(running), 0)::bigint from counted
    on conflict (role, width, at) do update
    set samples = rolecall.history.samples + 1, ready = rolecall.history.ready + excluded.ready,
        running = rolecall.history.running + excluded.running
$$;
