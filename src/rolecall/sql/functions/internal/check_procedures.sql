-- Insists that the procedures which handlers name exist and take what they are given.
-- returns: nothing
-- raises: RC041 invalid declaration
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.check_procedures(p_handlers jsonb)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
    v_said record;
begin
    for v_said in
        select * from jsonb_to_recordset(p_handlers) as said (name text, procedure text, before text, after text)
    loop
        if v_said.procedure is null and num_nonnulls(v_said.before, v_said.after) > 0 then
            perform rolecall.refuse('RC041', format('%s: only a procedure has hooks before and after it', v_said.name));
        elsif v_said.procedure is not null and rolecall.find_procedure(v_said.procedure, false) is null then
            perform rolecall.refuse('RC041', format(
                '%s: there is no procedure %s(payload jsonb, inout info jsonb); say its schema too', v_said.name, v_said.procedure
            ));
        end if;
        perform rolecall.refuse('RC041', format(
            '%s: there is no procedure %s(payload jsonb); say its schema too', v_said.name, hook.name
        ))
        from unnest(array[v_said.before, v_said.after]) as hook (name)
        where hook.name is not null and rolecall.find_procedure(hook.name, true) is null;
    end loop;
end
$$;
