-- Gives some lines a floor in this session, where they have none or it is old: what asks several of them then
-- starts from the same.
create or replace function rolecall.renew_floors(p_line_ids int[], p_now timestamptz)
returns void
language sql
volatile
set search_path = ''
as $$
    select rolecall.look_below(line.id, p_now)
    from unnest(p_line_ids) as line (id)
    where (rolecall.line_floor(line.id)).look_below_at > clock_timestamp() is not true
$$;
