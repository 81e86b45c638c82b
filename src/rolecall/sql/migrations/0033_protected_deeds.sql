-- breaking: no
-- The audit log is only ever added to.
-- Only for its name: what it does comes with the functions.
create or replace function rolecall.protect_deeds() returns trigger language plpgsql as 'begin return null; end';
create trigger nothing_is_rewritten
before update or truncate on rolecall.deeds
for each statement execute function rolecall.protect_deeds();
create trigger nothing_is_deleted_early
after delete on rolecall.deeds
referencing old table as gone
for each statement execute function rolecall.protect_deeds();
