-- Roles: queues that workers serve. Their settings are the defaults of their tasks.
create table rolecall.roles (
    name text collate "C" primary key,
    description text not null default '',
    lease interval not null default '60 s',
    timeout interval not null default '1 h',
    max_attempts int default 5,
    retry jsonb not null
        default '{"kind": "exponential", "first": 10, "factor": 2, "cap": 300, "jitter": 0.1}',
    max_payload_bytes int not null default 1048576,
    keep_completed interval not null default '14 days',
    keep_failed interval not null default '14 days',
    paused_at timestamptz,
    one_root boolean not null default false,
    paused_until timestamptz,
    paused_by text,
    idempotent boolean not null default false,
    strict_keys boolean not null default false,
    withdrawn text,
    constraint name_is_a_word check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    constraint lease_is_between_a_tenth_of_a_second_and_a_day check (lease between '100 ms' and '1 day'),
    constraint timeout_is_positive check (timeout > '0 s'),
    constraint max_attempts_is_positive_or_null_for_unlimited check (max_attempts > 0),
    constraint retry_is_a_policy check (retry ->> 'kind' in ('none', 'linear', 'exponential')),
    constraint max_payload_bytes_is_between_1_kb_and_64_mb check (
        max_payload_bytes between 1024 and 67108864
    ),
    constraint only_a_paused_role_has_pause_details check (
        paused_at is not null or num_nonnulls(paused_until, paused_by) = 0
    ),
    constraint a_pause_ends_after_it_began check (paused_until > paused_at)
);

-- Handlers: the code that runs tasks. Settings that are null come from the role.
create table rolecall.handlers (
    name text collate "C" primary key,
    role text collate "C" not null,
    description text not null default '',
    signature jsonb,
    lease interval,
    timeout interval,
    max_attempts int,
    retry jsonb,
    procedure text,
    before_procedure text,
    after_procedure text,
    key text,
    dedupe_key text,
    expires interval,
    result_schema jsonb,
    strict_keys boolean,
    hiding jsonb not null default '[]',
    withdrawn text,
    constraint name_is_a_word check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
    constraint lease_is_between_a_tenth_of_a_second_and_a_day check (lease between '100 ms' and '1 day'),
    constraint timeout_is_positive check (timeout > '0 s'),
    constraint max_attempts_is_positive_or_zero_for_unlimited check (max_attempts >= 0),
    constraint retry_is_a_policy check (retry ->> 'kind' in ('none', 'linear', 'exponential')),
    constraint expires_is_positive check (expires > '0 s')
);
create index handlers_with_defaults on rolecall.handlers (name)
    where key is not null or dedupe_key is not null or expires is not null;
