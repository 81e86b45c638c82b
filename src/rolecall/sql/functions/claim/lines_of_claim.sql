-- Keeps, of some lines, those from which somebody may claim now: of its roles and handlers, not paused, not
-- set apart for free slots where it claims ahead, and with tasks that may fit its signature.
-- returns: one row a line
create or replace function rolecall.lines_of_claim(
    p_line_ids int[], p_claimant rolecall.claimant, p_now timestamptz
)
returns table (line_id int, priority smallint, never_ahead boolean)
language sql
stable
set search_path = ''
as $$
    select setting.line_id, setting.priority, setting.never_ahead
    from rolecall.line_settings as setting
    where setting.line_id = any(p_line_ids)
        and (p_claimant.roles = '{}' or setting.role = any(p_claimant.roles))
        and setting.handler = any(p_claimant.handlers)
        and (not setting.paused or setting.paused_until <= p_now)
        and not (p_claimant.ahead and setting.never_ahead)
        and (setting.misfit_for = '{}' or not setting.misfit_for && coalesce(
            (select worker.intakes from rolecall.workers as worker where worker.id = p_claimant.worker_id),
            '{}'
        ))
$$;
