-- Forgets, of one partition, finished tasks whose own time, and that of all they belong to, is up; a parent goes after its children. What
-- a role keeps for longer than p_most stays.
-- returns: their ids, at most p_limit
-- raises: nothing
-- locks: finished_tasks rows
-- notifies: nothing
create or replace function rolecall.prune_day(p_name text, p_most interval, p_held bigint[], p_now timestamptz, p_limit int)
returns bigint[]
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_gone bigint[];
begin
    execute format(
        'with gone as (
            -- Of the whole table, whose trigger counts what leaves it.
            delete from rolecall.finished_tasks as finished
            where (finished.id, finished.finished_at) in (
                select old.id, old.finished_at
                from rolecall.%I as old
                join rolecall.lines as line on line.id = old.line_id
                join rolecall.roles as role on role.name = line.role
                cross join lateral (
                    select case old.state when ''completed'' then role.keep_completed else role.keep_failed end as keep
                ) as said
                where old.finished_at < $2 - said.keep and (said.keep > $4) is not true
                    and case
                        when old.parent_id is null and old.chain_index = 0 and old.continued is not true then old.id <> all($1)
                        else not rolecall.is_wanted(old.chain_id, old.parent_id, $1, $2)
                    end
                    -- Not `exists`, which may be answered from a list of all children.
                    and (select true from rolecall.finished_tasks as child where child.parent_id = old.id limit 1) is null
                limit $3
            )
            returning finished.id
        )
        select coalesce(array_agg(gone.id), ''{}'') from gone', p_name
    ) into v_gone using p_held, p_now, p_limit, p_most;
    return v_gone;
end
$$;
