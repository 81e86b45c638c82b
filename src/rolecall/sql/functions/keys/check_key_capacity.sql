-- Insists on a key, or a pattern with one star at its end, and on a capacity that is one.
-- raises: RC041 something else
create or replace function rolecall.check_key_capacity(p_pattern text, p_capacity int)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
    if p_pattern is null or length(p_pattern) not between 1 and 200 then
        perform rolecall.refuse('RC041', 'a key has 1 to 200 characters');
    elsif position('*' in left(p_pattern, -1)) > 0 then
        perform rolecall.refuse(
            'RC041',
            format('%L has a star before its end: a pattern of keys is a beginning and one star', p_pattern)
        );
    elsif p_capacity not between 1 and 32767 then
        perform rolecall.refuse(
            'RC041', format('the capacity of %L is a number from 1 to 32767, not %s', p_pattern, p_capacity)
        );
    end if;
end
$$;
