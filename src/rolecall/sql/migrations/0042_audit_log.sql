-- breaking: no
-- The audit log is called so. What the release before calls it stays for that release: a view, by which it
-- reads and which its functions write to until this one's are there, and the function record_deed.
update rolecall.retention set kind = 'audit_log' where kind = 'deeds';
alter table rolecall.deeds rename to audit_log;
-- From Postgres 18 on, what is not null is a constraint with a name, too.
do $$
declare
    v_name name;
begin
    for v_name in
        select conname from pg_catalog.pg_constraint
        where conrelid = 'rolecall.audit_log'::regclass and starts_with(conname, 'deeds_')
    loop
        execute format(
            'alter table rolecall.audit_log rename constraint %I to %I',
            v_name, replace(v_name, 'deeds_', 'audit_log_')
        );
    end loop;
end
$$;
alter index rolecall.deeds_by_time rename to audit_log_by_time;
alter sequence rolecall.deeds_id_seq rename to audit_log_id_seq;
alter function rolecall.protect_deeds() rename to protect_audit_log;
create view rolecall.deeds with (security_invoker = true) as
select id, at, actor, via, origin, action, detail, outcome from rolecall.audit_log;
