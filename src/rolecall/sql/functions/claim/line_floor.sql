-- Says where this session's last walk of a line stopped, and until when the next one may start there.
-- returns: the place; null where this session has not walked the line
create or replace function rolecall.line_floor(p_line_id int)
returns rolecall.floor
language sql
volatile
set search_path = ''
as $$
    select nullif(current_setting('rolecall.floor_' || p_line_id, true), '')::rolecall.floor
$$;
