-- What each release of an app declares in its code, stored when its workers start. A release is the digest
-- of its declarations, so two deployments with the same declarations are one release. The digest of one
-- declaration is null if it has no settings.
create table rolecall.declarations (
    app text collate "C" not null,
    release text collate "C" not null,
    kind text collate "C" not null,
    name text collate "C" not null,
    digest text,
    primary key (app, release, kind, name),
    constraint kind_is_known check (kind in ('schedule', 'key', 'role', 'handler'))
);
