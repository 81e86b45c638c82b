-- Says what is wrong with the needs of a task: each is an id, or an object with one of task, chain and item.
-- returns: a sentence, or null when nothing is
create or replace function rolecall.needs_problem(p_needs jsonb)
returns text
language sql
immutable
set search_path = ''
as $$
    select case
        when jsonb_typeof(p_needs) <> 'array' then format(
            'needs is not an array but %s', jsonb_typeof(p_needs)
        )
        when jsonb_array_length(p_needs) > 10000 then 'a task needs at most 10000 others'
        else (
            select format('%s is no need: it is a task''s id, or an object with task, chain or item', need)
            from jsonb_array_elements(p_needs) as need
            where case jsonb_typeof(need)
                when 'number' then need::text !~ '^[0-9]{1,18}$'
                when 'object' then (
                    select count(*) <> 1 or not bool_and(value ~ '^[0-9]{1,18}$') is true
                    from jsonb_each_text(need) as given where given.key in ('task', 'chain', 'item')
                ) or need ->> 'on_failure' not in ('fail', 'ignore')
                else true
            end
            limit 1
        )
    end
$$;
