-- Ends a role's pause.
-- returns: whether it was paused
-- raises: RC031 unknown role
-- locks: the roles row
-- notifies: rolecall_wake, where an idle worker waits for the role
-- public: yes
create or replace function rolecall.resume_role(p_role text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_paused boolean;
begin
    select paused_at is not null into v_paused from rolecall.roles where name = p_role for update;
    if v_paused is null then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    update rolecall.roles set paused_at = null, paused_until = null,
    paused_by = null where name = p_role and v_paused;
    perform rolecall.wake(array[p_role]) where v_paused;
    return v_paused;
end
$$;
