-- Lets no task of a role begin: what runs goes on, what is claimed and has not begun is given back. The pause
-- ends after p_seconds (null: when somebody resumes the role); a pause that stands is changed, and still
-- counts from its beginning.
-- returns: one row: since when, and until when
-- raises: RC031 unknown role; RC041 for a time that is not positive
-- locks: the roles row
-- notifies: rolecall_pause with the role
-- public: yes
create or replace function rolecall.pause_role(
    p_role text, p_seconds float8 default null, p_by text default null
)
returns table (paused_at timestamptz, paused_until timestamptz)
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
    v_now timestamptz := rolecall.clock();
begin
    if p_seconds <= 0 or p_seconds > 315576000 then
        perform rolecall.refuse('RC041', 'a pause is longer than nothing, and not longer than ten years');
    end if;
    return query
    update rolecall.roles as role
    set paused_at = case when role.paused_until <= v_now then v_now else coalesce(role.paused_at, v_now) end,
        paused_until = v_now + make_interval(secs => p_seconds), paused_by = p_by
    where role.name = p_role
    returning role.paused_at, role.paused_until;
    if not found then
        perform rolecall.refuse('RC031', format('unknown role %L', p_role));
    end if;
    perform rolecall.notify('rolecall_pause', p_role);
end
$$;
