-- For a worker that was woken and has no room: takes its idle mark away and wakes other idle workers for what
-- is due, as an enqueue does.
-- locks: the worker's marks
-- notifies: rolecall_wake, where an idle worker waits for one of the next tasks
-- public: yes
create or replace function rolecall.wake_others(p_worker_id bigint, p_roles text[], p_handlers text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now timestamptz := rolecall.clock();
    v_lines int[];
begin
    perform rolecall.set_idle_mark(p_worker_id, false);
    v_lines := array(
        select line.line_id
        from rolecall.lines_of_claim(
            rolecall.open_lines(), (p_worker_id, p_roles, p_handlers, false)::rolecall.claimant, v_now
        ) as line
    );
    perform rolecall.renew_floors(v_lines, v_now);
    -- Whoever comes after the first twenty is woken by those who claim them.
    perform rolecall.wake_lines(array(
        select share.line_id
        from rolecall.share_out(v_lines, 20, '{}', v_now) as share
        cross join generate_series(1, share.number)
    ));
end
$$;
