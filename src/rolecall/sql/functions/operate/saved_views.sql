-- Saves a query under a new name, unless there are `p_most` saved views already.
-- returns: the id; null if it was not saved
-- locks: waits for an uncommitted view of that name
create or replace function rolecall.save_view(p_name text, p_query text, p_by text, p_most int)
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
    insert into rolecall.saved_views (name, query, saved_by, saved_at)
    select p_name, p_query, p_by, rolecall.clock()
    where (select count(*) from rolecall.saved_views) < p_most
    on conflict (name) do nothing
    returning id
$$;

-- Changes the name of a saved view, its query, or both; null keeps the present one.
-- returns: whether it was changed: false if another view has the name; null if there is no such view
-- locks: the saved_views row; waits for an uncommitted view of that name
create or replace function rolecall.change_view(p_id bigint, p_name text, p_query text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
    update rolecall.saved_views as view
    set name = coalesce(p_name, view.name), query = coalesce(p_query, view.query)
    where view.id = p_id;
    return case when found then true end;
exception when unique_violation then
    return false;
end
$$;

-- Deletes a saved view.
-- returns: whether it existed
-- locks: the saved_views row
create or replace function rolecall.delete_view(p_id bigint)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
    delete from rolecall.saved_views where id = p_id;
    return found;
end
$$;
