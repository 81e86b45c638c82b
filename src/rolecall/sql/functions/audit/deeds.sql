-- The name by which the release before reads the audit log; the next release drops it (decision 0016).
create or replace view rolecall.deeds with (security_invoker = true) as
select id, at, actor, via, origin, action, detail, outcome from rolecall.audit_log;
