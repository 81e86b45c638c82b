-- Checks that the login of this session has registered a worker. Ids and fences are not secret, so without
-- this check each login could report for, renew or stop the workers of all others. If the caller's own
-- rights apply, this costs only one comparison, because session_user and current_user are equal.
-- returns: null
-- raises: 42501 another login's worker
-- search_path: not set, so that the comparison is inlined into each call of a worker
create or replace function rolecall.require_own_worker(p_worker_id bigint)
returns boolean
language sql
volatile
as $$
    select case when session_user <> current_user then rolecall.refuse_others_worker(p_worker_id) end
$$;

-- Rejects a worker that another login has registered. Unregistered ids are accepted, because they own
-- nothing.
-- returns: false
-- raises: 42501 another login's worker
create or replace function rolecall.refuse_others_worker(p_worker_id bigint)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (
        select from rolecall.workers as worker where worker.id = p_worker_id and worker.login <> session_user
    ) and not rolecall.acts_for_all_workers() then
        perform rolecall.refuse('42501', format(
            'worker %s was not registered by login %s: use the login that registered it',
            p_worker_id, session_user
        ));
    end if;
    return false;
end
$$;

-- Filters workers by whether the login of this session may declare them dead.
-- returns: their ids
create or replace function rolecall.own_workers(p_worker_ids bigint[])
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if session_user = current_user or rolecall.acts_for_all_workers() then
        return p_worker_ids;
    end if;
    return array(
        select given.id
        from unnest(p_worker_ids) as given (id)
        left join rolecall.workers as worker using (id)
        where worker.login = session_user
    );
end
$$;

-- Returns whether the login of this session may act for every worker: the owner may do everything, and an
-- operator may finish every task anyway.
create or replace function rolecall.acts_for_all_workers()
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.is_owners_session() or exists (
        select from pg_catalog.pg_roles as role
        where role.rolname = 'rolecall_operate' and pg_has_role(session_user, role.oid, 'member')
    )
$$;
