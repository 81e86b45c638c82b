-- breaking: no
-- Whether a role's handlers may run twice at once: only then may a task be returned early, without proof that
-- its worker is dead.
alter table rolecall.roles add column idempotent boolean not null default false;
