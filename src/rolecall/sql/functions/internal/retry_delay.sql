-- How long a task waits after its nth attempt: linear min(cap, step * n), exponential min(cap, first * factor ^ (n - 1)), with jitter.
-- returns: an interval; null where the policy never retries
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.retry_delay(p_policy jsonb, p_attempt int)
returns interval
language sql
volatile
set search_path = ''
as $$
    select make_interval(secs => least(coalesce((p_policy ->> 'cap')::float8, 300), base)
        * (1 + coalesce((p_policy ->> 'jitter')::float8, 0) * (2 * random() - 1)))
    from (
        select case p_policy ->> 'kind'
            when 'linear' then coalesce((p_policy ->> 'step')::float8, 5) * p_attempt
            when 'exponential' then coalesce((p_policy ->> 'first')::float8, 10)
                * power(coalesce((p_policy ->> 'factor')::float8, 2), least(p_attempt - 1, 60))
        end as base
    ) as delay
    where base is not null
$$;
