-- Every line with the settings of its tasks: the handler's where it has them, otherwise the role's.
-- returns: one row per line
create or replace view rolecall.line_settings with (security_invoker = true) as
select
    line.id as line_id,
    line.role,
    line.handler,
    line.priority,
    coalesce(handler.lease, role.lease) as lease,
    coalesce(handler.timeout, role.timeout) as timeout,
    coalesce(handler.retry, role.retry) as retry,
    role.paused_at is not null as paused,
    role.paused_until,
    line.never_ahead,
    line.misfit_for,
    coalesce(handler.strict_keys, role.strict_keys) as strict_keys
from rolecall.lines as line
join rolecall.roles as role on role.name = line.role
left join rolecall.handlers as handler on handler.name = line.handler;
