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
