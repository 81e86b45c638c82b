-- Forgets tokens that open nothing any more, of the next p_limit in order.
-- returns: one row: how many; the last token that was looked at, null at the end
-- raises: nothing
-- locks: task_tokens rows
-- notifies: nothing
create or replace function rolecall.prune_tokens(p_after text, p_now timestamptz, p_limit int)
returns table (number bigint, place text)
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_looked_at bytea[];
begin
    v_looked_at := array(
        select token.digest from rolecall.task_tokens as token
        where token.digest > decode(coalesce(p_after, ''), 'hex')
        order by token.digest
        limit p_limit
    );
    delete from rolecall.task_tokens as token
    where token.digest = any(v_looked_at)
        and (token.expires_at < p_now or not exists (select from rolecall.tasks as task where task.id = token.task_id));
    get diagnostics number = row_count;
    place := case when cardinality(v_looked_at) = p_limit then encode(v_looked_at[p_limit], 'hex') end;
    return next;
end
$$;
