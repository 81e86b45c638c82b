-- Says what is wrong with a new task's own timeout, or with how it is tied to others.
-- returns: a sentence, or null when nothing is
-- raises: nothing
-- locks: nothing
-- notifies: nothing
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.edge_problem(p_timeout float8, p_on_failure text, p_needs jsonb)
returns text
language sql
stable
as $$
    select case
        when p_timeout not between 0.001 and 4e9
            then format('the timeout is %s s, allowed are 0.001 to 4e9', p_timeout)
        when p_on_failure not in ('fail_parent', 'ignore', 'cancel_siblings')
            then format('on_failure is %L; a child says fail_parent, ignore or cancel_siblings', p_on_failure)
        when p_needs is not null then rolecall.needs_problem(p_needs)
    end
$$;
