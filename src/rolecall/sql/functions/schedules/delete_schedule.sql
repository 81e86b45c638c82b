-- Deletes a schedule and its history. The tasks that it has enqueued remain.
-- returns: whether it existed
-- raises: RC022 it is immutable
-- locks: the schedules row, then the rows of its history
-- public: yes
create or replace function rolecall.delete_schedule(p_name text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
    v_id bigint;
begin
    perform rolecall.require_durability();
    delete from rolecall.schedules where name = p_name and not immutable returning id into v_id;
    if v_id is null then
        perform rolecall.refuse('RC022', format('schedule %s is immutable: it cannot be deleted', p_name))
        from rolecall.schedules where name = p_name;
        return false;
    end if;
    delete from rolecall.schedule_runs where schedule_id = v_id;
    return true;
end
$$;
