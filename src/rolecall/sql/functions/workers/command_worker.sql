-- Tells a worker to take no more tasks (drain), to do so and leave for good once what it holds has ended
-- (decommission), or to go on (null). It hears of it by a notification, or else with its next beat.
-- raises: RC030 unknown worker
-- locks: the workers row
-- notifies: rolecall_command with the worker's id
-- public: yes
create or replace function rolecall.command_worker(p_worker_id bigint, p_command text)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
    update rolecall.workers
    set command = p_command,
        commanded_at = case
            when p_command = command then commanded_at
            when p_command is not null then rolecall.clock()
        end
    where id = p_worker_id and stopped_at is null;
    if not found then
        perform rolecall.refuse('RC030', format('no worker %s is on the roll', p_worker_id));
    end if;
    perform rolecall.notify('rolecall_command', p_worker_id::text);
end
$$;
