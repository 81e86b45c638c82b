-- Finds, among a day's finished tasks whose own time is up, those that must be kept for what they belong to.
-- returns: their ids, at most p_limit
-- raises: nothing
-- locks: nothing
-- notifies: nothing
create or replace function rolecall.wanted_of_partition(p_name text, p_held bigint[], p_now timestamptz, p_limit int)
returns bigint[]
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_ids bigint[];
begin
    execute format(
        'select array(
            select old.id from rolecall.%I as old
            where (old.parent_id is not null or old.chain_index > 0 or old.continued or old.id = any($1))
                and rolecall.is_wanted(old.chain_id, old.parent_id, $1, $2)
            limit $3
        )', p_name
    ) into v_ids using p_held, p_now, p_limit;
    return v_ids;
end
$$;
