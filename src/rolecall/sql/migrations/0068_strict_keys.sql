-- breaking: no
-- Whether at most as many tasks of a key are claimed as may run at once.
alter table rolecall.roles add column strict_keys boolean not null default false;
alter table rolecall.handlers add column strict_keys boolean;
