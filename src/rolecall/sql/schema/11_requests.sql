-- Responses to requests, kept for a day, so that a request that is repeated with the same key gets the
-- stored response and is not executed again.
create table rolecall.requests (
    caller text collate "C" not null,
    key text collate "C" not null,
    digest bytea not null,
    answered_at timestamptz not null,
    status int not null,
    location text,
    body text not null,
    constraint one_answer_per_caller_and_key primary key (caller, key)
);
create index requests_by_time on rolecall.requests (answered_at);
