-- Tells an error as a task stores it: its message, then detail, hint and context where there are any, the context without the
-- engine's own frames.
-- returns: a text of at most 8,000 characters
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.failure_text(p_message text, p_detail text, p_hint text, p_context text)
returns text
language sql
immutable
set search_path = ''
as $$
    select left(concat_ws(e'\n',
        p_message,
        'detail: ' || nullif(p_detail, ''),
        'hint: ' || nullif(p_hint, ''),
        'context: ' || nullif(regexp_replace(p_context, '\n[^\n]*rolecall\.call_procedure\(.*$', ''), '')
    ), 8000)
$$;
