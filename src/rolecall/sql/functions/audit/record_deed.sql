-- The name by which the release before calls record_audit; the next release drops it (decision 0016).
-- public: yes
create or replace function rolecall.record_deed(
    p_actor text, p_via text, p_origin text, p_action text, p_detail jsonb, p_outcome jsonb
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select rolecall.record_audit(p_actor, p_via, p_origin, p_action, p_detail, p_outcome)
$$;
