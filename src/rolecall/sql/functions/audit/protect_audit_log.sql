-- Rejects changes to audit entries, and deletions before the retention period is over (trigger function).
-- The owner of the table can drop the trigger; a separate role that only uses the table cannot.
-- raises: 42501 a change, or the deletion of an entry that must be kept
create or replace function rolecall.protect_audit_log()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op = 'DELETE' then
        if not exists (
            select from gone
            where gone.at > rolecall.clock() - (
                select retention.keep from rolecall.retention as retention where retention.kind = 'audit_log'
            )
        ) then
            return null;
        end if;
    end if;
    raise exception using errcode = '42501',
        message = format('the audit log cannot be changed (%s)', lower(tg_op)),
        hint = 'rolecall prune --keep-audit says for how long it is kept.';
end
$$;
