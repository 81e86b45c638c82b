-- Sums up what is open of each role (or of one): what waits, what is due, what runs, since when the longest waits, and what of it was
-- claimed or came within the last hour.
-- returns: one row a role that has open tasks
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.open_load(p_role text, p_now timestamptz)
returns table (
    role text, pending bigint, ready bigint, running bigint, claimed bigint, arrived bigint, waiting_since timestamptz
)
language sql
stable
set search_path = ''
as $$
    select
        line.role,
        count(*) filter (where state = 'pending'),
        count(*) filter (where state = 'pending' and not parked and scheduled_for <= p_now),
        count(*) filter (where state = 'running'),
        count(*) filter (where claimed_at > p_now - interval '1 hour'),
        count(*) filter (where created_at > p_now - interval '1 hour'),
        min(greatest(created_at, scheduled_for)) filter (where state = 'pending' and scheduled_for <= p_now)
    from rolecall.tasks
    join rolecall.lines as line on line.id = line_id
    where p_role is null or line.role = p_role
    group by line.role
$$;
