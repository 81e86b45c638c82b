-- Access over HTTP: programs use an API key, people log in by name. Only digests of secrets are stored.
create table rolecall.api_keys (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text not null,
    scope rolecall.scope not null,
    prefix text collate "C" not null unique,
    digest bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    constraint name_is_short check (length(name) between 1 and 100),
    constraint digest_is_sha256 check (length(digest) = 32)
);
create table rolecall.people (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    name text collate "C" not null unique,
    scope rolecall.scope not null,
    password_hash text not null,
    created_at timestamptz not null,
    last_login_at timestamptz,
    constraint name_is_short check (length(name) between 1 and 100)
);
-- A person's own key is deleted together with the person.
alter table rolecall.api_keys add column person_id bigint references rolecall.people on delete cascade;
create index api_keys_by_person on rolecall.api_keys (person_id) where person_id is not null;
-- A session without a person was opened with the local token.
create table rolecall.sessions (
    digest bytea primary key,
    person_id bigint references rolecall.people on delete cascade,
    origin text,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    last_used_at timestamptz,
    constraint digest_is_sha256 check (length(digest) = 32)
);
create index sessions_by_person on rolecall.sessions (person_id);
create index sessions_by_expiry on rolecall.sessions (expires_at);
-- Browsers in which a person has logged in: failed attempts of others do not lock out the person there.
create table rolecall.known_browsers (
    digest bytea not null,
    person_id bigint not null references rolecall.people on delete cascade,
    last_seen_at timestamptz not null,
    primary key (digest, person_id),
    constraint digest_is_sha256 check (length(digest) = 32)
);
create index known_browsers_by_person on rolecall.known_browsers (person_id);
-- Login attempts since the last success, whether a person of that name exists or not: by the digest of the
-- name, of the name with the network, or of a known browser's secret. Each row also has the digest of the
-- name.
create table rolecall.login_attempts (
    digest bytea primary key,
    attempts int not null,
    last_at timestamptz not null,
    locked_until timestamptz,
    name_digest bytea
);
