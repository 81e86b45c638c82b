-- A trigger: takes what leaves the finished tasks out of their counts, where it is in them. That cannot
-- change until the commit, as the row that says so is locked with it.
-- locks: the row of counted_until, shared; waits for a roll-up that is under way
create or replace function rolecall.uncount_finished()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_until timestamptz;
begin
    if not exists (select from gone) then
        return null;
    end if;
    select moment into v_until from rolecall.counted_until for share;
    insert into rolecall.finished_counts (day, line_id, state, number)
    select (finished_at at time zone 'utc')::date, line_id, state, -count(*)
    from gone
    where finished_at < v_until
    group by 1, 2, 3;
    return null;
end
$$;
