-- Says whether a document is a retry policy: kind none, linear or exponential, with numbers from which a
-- delay can be worked out whatever the attempt, as a task whose delay overflows could never be let go.
-- returns: true or false
create or replace function rolecall.is_retry_policy(p_policy jsonb)
returns boolean
language sql
immutable
set search_path = ''
as $$
    select jsonb_typeof(p_policy) = 'object'
        and coalesce(p_policy ->> 'kind' in ('none', 'linear', 'exponential'), false)
        and not exists (
            select
            from jsonb_each(p_policy - 'kind') as part
            where part.key not in ('first', 'factor', 'step', 'cap', 'jitter')
                or jsonb_typeof(part.value) <> 'number'
                or part.value::float8 not between 0 and case part.key
                    when 'jitter' then 1
                    when 'factor' then 1000
                    else 31536000
                end
        )
$$;
