-- The audit log: one row per change that was requested through the service layer. Append-only.
create table rolecall.audit_log (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    at timestamptz not null,
    actor text not null,
    via text not null,
    origin text,
    action text collate "C" not null,
    detail jsonb not null,
    outcome jsonb,
    constraint via_is_a_shell check (via in ('cli', 'api', 'dashboard', 'system')),
    constraint detail_is_an_object check (jsonb_typeof(detail) = 'object')
);
create index audit_log_by_time on rolecall.audit_log (at);

-- The triggers need a function to exist; `functions/` replaces this one with its real body.
create function rolecall.protect_audit_log() returns trigger language plpgsql as 'begin return null; end';
create trigger forbid_changes
before update or truncate on rolecall.audit_log
for each statement execute function rolecall.protect_audit_log();
create trigger forbid_early_deletion
after delete on rolecall.audit_log
referencing old table as gone
for each statement execute function rolecall.protect_audit_log();
