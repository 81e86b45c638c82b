-- Write down which rules locations do not meet; those that nobody has decided about are rejected for it.
update storecrawl.locations as location
set problems = verdict.problems,
    status = case when location.status = 'discovered' then 'rejected' else location.status end,
    because = case when location.status = 'needs_investigation' then location.because else verdict.because end,
    decided_by = case when location.status = 'discovered' then %(by)s else location.decided_by end,
    decided_at = case when location.status = 'discovered' then clock_timestamp() else location.decided_at end
from (
    select id, problems, array_to_string(problems, '; ') as because
    from jsonb_to_recordset(%(verdicts)s::jsonb) as given (id bigint, problems text[])
) as verdict
where location.id = verdict.id
    and (location.status = 'discovered' or location.problems <> verdict.problems)
