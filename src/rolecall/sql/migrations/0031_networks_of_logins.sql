-- breaking: no
-- Failed logins are counted by name and network; all of a name are forgotten together.
alter table rolecall.login_attempts add column name_digest bytea;
