-- SQL handlers, which every worker can run in addition to those of its own program.
-- returns: one row per handler
-- public: yes
create or replace view rolecall.procedures with (security_invoker = true) as
select name, role, procedure, before_procedure, after_procedure, description
from rolecall.handlers
where procedure is not null;
