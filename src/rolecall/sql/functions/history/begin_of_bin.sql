-- Says when the bin began that a moment is in.
-- returns: the moment
create or replace function rolecall.begin_of_bin(p_width int, p_moment timestamptz)
returns timestamptz
language sql
immutable
set search_path = ''
as $$
    select date_bin(make_interval(secs => p_width), p_moment, 'epoch')
$$;
