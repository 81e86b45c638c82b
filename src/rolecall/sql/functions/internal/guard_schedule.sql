-- Keeps a change away from a schedule that is not what the caller takes it for, or that may not be changed so.
-- returns: nothing
-- raises: RC022 where it stands already and should be new (revision 0), or where it is immutable; RC023 where it was changed meanwhile
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.guard_schedule(p_standing rolecall.schedules, p_amended jsonb, p_declared jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_revision int := (p_amended ->> 'revision')::int;
    v_editable constant text[] := '{name,every,cron,zone,priority,revision}';
begin
    if p_standing.id is null then
        if v_revision > 0 then
            perform rolecall.refuse('RC023', format('schedule %s is gone', p_amended ->> 'name'));
        end if;
    elsif v_revision = 0 then
        perform rolecall.refuse('RC022', format('there is already a schedule %L', p_standing.name));
    elsif v_revision <> p_standing.revision then
        perform rolecall.refuse('RC023', format(
            'schedule %s was changed meanwhile: it has revision %s, not %s', p_standing.name, p_standing.revision, v_revision
        ));
    elsif p_standing.immutable and p_declared is null
        and p_amended - v_editable <> rolecall.schedule_document(p_standing) - v_editable
    then
        perform rolecall.refuse('RC022', format(
            'schedule %s is immutable: only its rhythm and its priority can be changed', p_standing.name
        ));
    end if;
end
$$;
