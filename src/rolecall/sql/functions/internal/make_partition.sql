-- Makes one day's partition of a table, unless it stands or the default partition already has rows of that day.
-- returns: 1 when it was made, else 0
-- raises: nothing
-- locks: the partitioned table, then its partitions: the order in which readers and writers lock them
-- notifies: nothing
create or replace function rolecall.make_partition(p_table text, p_column text, p_day date)
returns int
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_name text := format('%s_%s', p_table, to_char(p_day, 'YYYYMMDD'));
    v_from timestamptz := p_day::timestamp at time zone 'utc';
    v_to timestamptz := (p_day + 1)::timestamp at time zone 'utc';
    v_is_settled text := format(
        'select to_regclass(%L) is not null or exists (select from rolecall.%I where %I >= $1 and %I < $2)',
        'rolecall.' || v_name, p_table || '_default', p_column, p_column
    );
    v_settled boolean;
begin
    execute v_is_settled into v_settled using v_from, v_to;
    if not v_settled then
        -- Rows of that day, or another maker, may be on their way: wait for them, and let none follow.
        execute format('lock table rolecall.%I in access exclusive mode', p_table);
        execute v_is_settled into v_settled using v_from, v_to;
    end if;
    if v_settled then
        return 0;
    end if;
    execute format('create table rolecall.%I partition of rolecall.%I for values from (%L) to (%L)', v_name, p_table, v_from, v_to);
    -- Its parent's is not inherited.
    execute format('alter table rolecall.%I replica identity full', v_name);
    return 1;
end
$$;
