-- Records who completed, failed or triggered a task, in the transaction of the change.
-- returns: the outcome of the change, as given
-- public: yes
create or replace function rolecall.note_act(p_id bigint, p_kind text, p_actor text, p_outcome text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into rolecall.task_events (task_id, at, kind, attempt, actor)
    select p_id, rolecall.clock(), p_kind, 0, p_actor
    where p_outcome not in ('finished', 'missing');
    return p_outcome;
end
$$;
