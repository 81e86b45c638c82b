-- breaking: no
-- The trigger that counts what leaves the finished tasks, until now applied with its function: made here, once, as making it again
-- waits for everybody who has finished a task in a transaction that is still open, while all others wait behind it.
do $$
begin
    if exists (select from pg_trigger where tgrelid = 'rolecall.finished_tasks'::regclass and tgname = 'what_leaves_is_counted_no_more') then
        return;
    end if;
    -- Only for its name: what it does comes with the functions.
    create or replace function rolecall.uncount_finished() returns trigger language plpgsql as 'begin return null; end';
    create trigger what_leaves_is_counted_no_more
    after delete on rolecall.finished_tasks
    referencing old table as gone
    for each statement execute function rolecall.uncount_finished();
end
$$;
