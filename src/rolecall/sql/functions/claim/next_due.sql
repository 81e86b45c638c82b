-- Says how long a worker of some roles and handlers may sleep until the earliest pending task is due. Like a
-- claim it leaves out what is below this session's floors while a look there is expensive.
-- returns: seconds; 0 when one is due, null when none is pending
-- public: yes
create or replace function rolecall.next_due(p_roles text[], p_handlers text[])
returns float8
language sql
volatile
set search_path = ''
as $$
    select rolecall.next_due_for(null, p_roles, p_handlers)
$$;
