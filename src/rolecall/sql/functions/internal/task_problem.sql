-- Says what is wrong with a task that somebody wants to enqueue.
-- returns: a sentence, or null when nothing is
-- raises: nothing
-- locks: nothing
-- notifies: nothing
-- search_path: not set, so that it is inlined into the statement that calls it
create or replace function rolecall.task_problem(
    p_payload jsonb, p_max_payload_bytes int, p_priority int, p_due timestamptz, p_now timestamptz,
    p_key text, p_dedupe_key text, p_max_attempts int, p_retry jsonb
)
returns text
language sql
stable
as $$
    select case
        when jsonb_typeof(p_payload) <> 'object'
            then format('the payload is not an object but %s', jsonb_typeof(p_payload))
        when pg_column_size(p_payload) > p_max_payload_bytes / 64 and octet_length(p_payload::text) > p_max_payload_bytes
            then format('the payload has %s bytes, the role allows %s', octet_length(p_payload::text), p_max_payload_bytes)
        when p_priority not between -100 and 100
            then format('priority %s is not between -100 and 100', p_priority)
        when p_due > p_now + interval '100 years' or p_due = '-infinity'
            then format('scheduled_for %s is not within the next hundred years', p_due)
        when length(p_key) not between 1 and 200
            then format('the key has %s characters, allowed are 1 to 200', length(p_key))
        when length(p_dedupe_key) not between 1 and 200
            then format('the dedupe_key has %s characters, allowed are 1 to 200', length(p_dedupe_key))
        when p_max_attempts < 0
            then format('max_attempts is %s; 0 stands for unlimited', p_max_attempts)
        when p_retry is not null and not rolecall.is_retry_policy(p_retry)
            then format('%s is not a retry policy', p_retry)
    end
$$;
