-- breaking: no
-- Browsers in which somebody has logged in: strangers who guess lock nobody out of them.
create table rolecall.known_browsers (
    digest bytea not null,
    person_id bigint not null references rolecall.people on delete cascade,
    last_seen_at timestamptz not null,
    primary key (digest, person_id),
    constraint digest_is_sha256 check (length(digest) = 32)
);
create index known_browsers_by_person on rolecall.known_browsers (person_id);
insert into rolecall.retention (kind) values ('known_browsers');
