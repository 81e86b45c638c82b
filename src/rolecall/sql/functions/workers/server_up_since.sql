-- Since when this very server has answered, as far as anybody here has seen: a restart starts it anew, and so
-- does a failover, as the standby that takes over was started at another time.
-- returns: the time of the first look at this server
-- locks: the server_epoch row, when the server is another
create or replace function rolecall.server_up_since()
returns timestamptz
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_seen_at timestamptz;
begin
    select epoch.seen_at into v_seen_at
    from rolecall.server_epoch as epoch
    where epoch.postmaster_started_at = pg_postmaster_start_time() and epoch.seen_at <= rolecall.clock();
    if v_seen_at is null then
        -- The timeline is asked of nobody any more, as some servers refuse to tell it; its column goes with a
        -- later release.
        insert into rolecall.server_epoch as epoch (postmaster_started_at, timeline, seen_at)
        values (pg_postmaster_start_time(), '', rolecall.clock())
        on conflict (only_row) do update
        set postmaster_started_at = excluded.postmaster_started_at, seen_at = excluded.seen_at
        returning epoch.seen_at into v_seen_at;
    end if;
    return v_seen_at;
end
$$;
