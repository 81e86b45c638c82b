-- Insists that declared roles and handlers have names and retry policies that are such.
-- returns: nothing
-- raises: RC041 invalid declaration
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.check_declaration(p_said jsonb)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
    v_said jsonb;
begin
    for v_said in select * from jsonb_array_elements(p_said) loop
        if coalesce(v_said ->> 'name', '') !~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$' then
            perform rolecall.refuse('RC041', format('%s is not a name of a role or handler', coalesce(v_said ->> 'name', 'null')));
        elsif v_said -> 'retry' <> 'null' and not rolecall.is_retry_policy(v_said -> 'retry') then
            perform rolecall.refuse('RC041', format('%s: %s is not a retry policy', v_said ->> 'name', v_said -> 'retry'));
        elsif (v_said ->> 'lease')::float8 not between 0.1 and 86400 or (v_said ->> 'timeout')::float8 not between 0.001 and 4e9 then
            perform rolecall.refuse('RC041', format('%s: lease is 0.1 to 86400 s, timeout 0.001 to 4e9 s', v_said ->> 'name'));
        elsif (v_said ->> 'max_attempts')::int < 0 then
            perform rolecall.refuse('RC041', format('%s: max_attempts is positive, or 0 for unlimited', v_said ->> 'name'));
        elsif (v_said ->> 'max_payload_bytes')::int not between 1024 and 67108864 then
            perform rolecall.refuse('RC041', format('%s: max_payload_bytes is 1024 to 67108864', v_said ->> 'name'));
        elsif (v_said ->> 'keep_completed')::float8 not between 0 and 4e9 or (v_said ->> 'keep_failed')::float8 not between 0 and 4e9 then
            perform rolecall.refuse('RC041', format('%s: what is finished is kept 0 to 4e9 s', v_said ->> 'name'));
        end if;
    end loop;
end
$$;
