-- Sets how long the audit log is kept.
-- raises: RC041 less than a day, or more than a hundred years
-- locks: the retention row of the audit log; waits for a transaction that is pruning it
-- public: yes
create or replace function rolecall.keep_audit(p_seconds float8)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_seconds is null or p_seconds not between 86400 and 3.2e9 then
        perform rolecall.refuse(
            'RC041', 'the audit log is kept for a day at least, and for a hundred years at most'
        );
    end if;
    update rolecall.retention set keep = make_interval(secs => p_seconds),
    next_at = '-infinity' where kind = 'audit_log';
end
$$;
