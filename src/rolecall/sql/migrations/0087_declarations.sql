-- breaking: no
-- Records which release of an app declares what, so that declarations end with the code that made them.
create table rolecall.declarations (
    app text collate "C" not null,
    release text collate "C" not null,
    kind text collate "C" not null,
    name text collate "C" not null,
    primary key (app, release, kind, name),
    constraint kind_is_known check (kind in ('schedule', 'key', 'role', 'handler'))
);
alter table rolecall.workers add column app text, add column release text;
alter table rolecall.schedules add column withdrawn text;
alter table rolecall.handlers add column withdrawn text;
alter table rolecall.roles add column withdrawn text;
