-- Writes a stored schedule as the document that would store it so.
-- returns: the document, without what is null
create or replace function rolecall.schedule_document(p_schedule rolecall.schedules)
returns jsonb
language sql
immutable
set search_path = ''
as $$
    select rolecall.without_nulls(jsonb_build_object(
        'name', p_schedule.name, 'role', p_schedule.role, 'handler', p_schedule.handler, 'payload',
        p_schedule.payload, 'priority', p_schedule.priority, 'key', p_schedule.key, 'every',
        extract(epoch from p_schedule.every), 'cron', p_schedule.cron, 'zone', p_schedule.zone, 'misfire',
        p_schedule.misfire, 'overlap', p_schedule.overlap,
        'jitter', extract(epoch from p_schedule.jitter), 'enabled', p_schedule.enabled, 'immutable',
        p_schedule.immutable
    ))
$$;
