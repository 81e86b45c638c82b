-- Records a change and its actor in the audit log, in the transaction of the change, so that both commit or
-- neither.
-- public: yes
create or replace function rolecall.record_audit(
    p_actor text, p_via text, p_origin text, p_action text, p_detail jsonb, p_outcome jsonb
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into rolecall.audit_log (at, actor, via, origin, action, detail, outcome)
    values (rolecall.clock(), p_actor, p_via, p_origin, p_action, p_detail, p_outcome)
$$;
