-- Answers that are kept for a day, so that a request which is sent again with the same key is answered and
-- not carried out again.
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
