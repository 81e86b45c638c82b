-- Lists the widths of the history's bins in seconds, the narrowest first: of which width those are that they
-- are merged into, and how long they are kept.
-- returns: one row a width
create or replace function rolecall.history_tiers()
returns table (width int, wider int, kept interval)
language sql
immutable
set search_path = ''
as $$
    values
        (10, 60, interval '2 hours'),
        (60, 600, interval '2 days'),
        (600, 3600, interval '10 days'),
        (3600, null, interval '90 days')
$$;
