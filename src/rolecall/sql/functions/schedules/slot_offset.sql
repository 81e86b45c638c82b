-- Draws by how much a slot's task starts later: the same for the same slot, evenly spread over the jitter.
-- returns: zero to the jitter
create or replace function rolecall.slot_offset(p_schedule_id bigint, p_slot timestamptz, p_jitter interval)
returns interval
language sql
immutable
set search_path = ''
as $$
    select (
        'x' || substr(md5(format('%s:%s', p_schedule_id, extract(epoch from p_slot))), 1, 8)
    )::bit(32)::bigint / 4294967296.0 * p_jitter
$$;
