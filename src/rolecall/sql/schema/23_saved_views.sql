-- Queries of tasks that operators have saved under a name, for everyone who can read tasks.
create table rolecall.saved_views (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text collate "C" not null unique,
    query text not null,
    saved_by text not null,
    saved_at timestamptz not null,
    constraint name_is_short check (length(name) between 1 and 60),
    constraint query_is_short check (length(query) between 1 and 1000)
);
