-- breaking: no
-- A task may need more than a smallint counts, over time. Widening the column writes the table anew while nobody can use it: where that
-- would take longer than a moment, it stays as it is, and decision 0017 says how to do it in a quiet hour.
do $$
begin
    if pg_total_relation_size('rolecall.needs') <= 16 * 1024 * 1024 then
        alter table rolecall.needs alter column position type int;
    end if;
end
$$;
