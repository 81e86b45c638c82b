-- Keeps, of some lines, those from which a worker of these roles and handlers may claim now.
-- returns: one row a line
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.lines_of_claim(p_line_ids int[], p_roles text[], p_handlers text[], p_now timestamptz)
returns table (line_id int, priority smallint)
language sql
stable
set search_path = ''
as $$
    select setting.line_id, setting.priority
    from rolecall.line_settings as setting
    where setting.line_id = any(p_line_ids)
        and (p_roles = '{}' or setting.role = any(p_roles)) and setting.handler = any(p_handlers)
        and (not setting.paused or setting.paused_until <= p_now)
$$;
