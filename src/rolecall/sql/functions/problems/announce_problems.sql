-- Records which roles, handlers and workers have a problem now, and returns the changes since the last call
-- that receivers of alerts should know. A problem is returned as `opened` once it has existed for `p_after`,
-- and again if more roles, handlers or workers have it. It is `resolved` for those that have not had it for
-- `p_over`. The caller sends the messages, or stores them in the same transaction.
-- returns: one row per change: `opened` with all columns of the problem, or `resolved` with its kind
-- locks: announced_problems, so that a second caller waits
-- public: yes
create or replace function rolecall.announce_problems(p_after interval, p_over interval)
returns table (
    change text, kind text, roles text[], handlers text[], workers bigint[], number bigint, since timestamptz,
    figures jsonb, subjects text[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := rolecall.clock();
    v_problem record;
begin
    lock table rolecall.announced_problems in share row exclusive mode;
    for v_problem in
        select problem.*, named.subjects
        from rolecall.problems() as problem
        cross join lateral (
            select case
                when cardinality(problem.workers) > 0 then problem.workers::text[]
                when cardinality(problem.roles) > 0 then problem.roles
                when cardinality(problem.handlers) > 0 then problem.handlers
                else array['']
            end as subjects
        ) as named
    loop
        insert into rolecall.announced_problems as known (kind, subject, first_seen_at, last_seen_at)
        select v_problem.kind, subject, v_now, v_now
        from unnest(v_problem.subjects) as subject
        on conflict (kind, subject) do update set last_seen_at = v_now;

        update rolecall.announced_problems as known
        set announced_at = v_now
        where known.kind = v_problem.kind and known.subject = any (v_problem.subjects)
            and known.announced_at is null and known.first_seen_at <= v_now - p_after;
        if found then
            return query select 'opened', v_problem.kind, v_problem.roles, v_problem.handlers,
                v_problem.workers, v_problem.number, v_problem.since, v_problem.figures,
                array_remove(v_problem.subjects, '');
        end if;
    end loop;

    return query
    with over as (
        delete from rolecall.announced_problems as known
        where known.last_seen_at < v_now - p_over
            or known.announced_at is null and known.last_seen_at < v_now
        returning known.kind, known.subject, known.announced_at
    )
    select 'resolved', over.kind, null::text[], null::text[], null::bigint[], null::bigint,
        min(over.announced_at), null::jsonb, array_remove(array_agg(over.subject order by over.subject), '')
    from over
    where over.announced_at is not null
    group by over.kind;
end
$$;
