-- breaking: no
-- What workers say about themselves with each beat, what they are told to do, and pauses that end by themselves.

-- What takes or returns something else than before; all functions are applied anew after this.
drop function if exists rolecall.beat(bigint, int, boolean);
drop function if exists rolecall.capacity();
drop function if exists rolecall.register_worker(text, text[], text[], int, text, int, text);
drop function if exists rolecall.rescue(int);

alter table rolecall.workers
    add column pod text,
    add column node text,
    add column cpu float8,
    add column memory float8,
    add column memory_bytes bigint,
    add column clock_ahead float8,
    add column backing_off text,
    add column command text,
    add column commanded_at timestamptz,
    add column following text,
    add constraint command_is_one_that_workers_know check (command in ('drain', 'decommission')),
    add constraint a_command_has_a_time check ((command is null) = (commanded_at is null));

alter table rolecall.roles
    add column paused_until timestamptz,
    add column paused_by text,
    add constraint only_a_paused_role_says_by_whom_and_until_when check (
        paused_at is not null or num_nonnulls(paused_until, paused_by) = 0
    ),
    add constraint a_pause_ends_after_it_began check (paused_until > paused_at);
