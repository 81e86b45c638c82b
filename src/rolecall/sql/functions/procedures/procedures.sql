-- The handlers that are procedures of the database: what every worker can run, besides those of its own
-- program.
-- returns: one row a handler
-- public: yes
create or replace view rolecall.procedures with (security_invoker = true) as
select name, role, procedure, before_procedure, after_procedure, description
from rolecall.handlers
where procedure is not null;
