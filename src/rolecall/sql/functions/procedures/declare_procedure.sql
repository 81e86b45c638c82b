-- Declares a stored procedure as a handler. Running workers serve it within moments. As for any handler,
-- omitted settings are those of the role.
-- raises: RC041 invalid declaration, such as a procedure that does not exist
-- locks: the roles and handlers rows, if they change
-- notifies: rolecall_handlers, if something changed
-- public: yes
create or replace function rolecall.declare_procedure(
    p_name text,
    p_procedure text,
    p_role text default null,
    p_before text default null,
    p_after text default null,
    p_description text default null,
    p_max_attempts int default null,
    p_retry jsonb default null,
    p_timeout interval default null,
    p_lease interval default null,
    p_key text default null,
    p_dedupe_key text default null,
    p_expires interval default null
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.declare('[]', jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'name', p_name, 'procedure', p_procedure, 'role', p_role, 'before', p_before, 'after', p_after,
        'description', p_description, 'max_attempts', p_max_attempts, 'retry', p_retry,
        'timeout', extract(epoch from p_timeout), 'lease', extract(epoch from p_lease),
        'key', p_key, 'dedupe_key', p_dedupe_key, 'expires', extract(epoch from p_expires)
    ))))
$$;
