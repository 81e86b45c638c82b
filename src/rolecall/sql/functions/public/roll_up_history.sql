-- Adds to the history what has finished since the last time, up to where nothing can finish any more, in whole bins; and counts what
-- is open. A call adds an hour at most, so that one that has much to catch up with stays short: of what is old it makes wide bins only.
-- returns: whether there is more to add
-- raises: RC050 wrong isolation level
-- locks: the row of history_until, or nothing while another has it
-- notifies: nothing
create or replace function rolecall.roll_up_history(p_margin interval default '5 s')
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_settled timestamptz;
    v_from timestamptz;
    v_until timestamptz;
    v_width int := 10;
    v_tier record;
begin
    perform rolecall.require_read_committed();
    select moment into v_from from rolecall.history_until for update skip locked;
    if not found then
        return false;
    end if;
    v_settled := rolecall.begin_of_bin(v_width, rolecall.settled_until(p_margin));
    if v_from = '-infinity' and v_settled > v_from then
        v_from := rolecall.begin_of_history(v_settled);
        update rolecall.history_until set began = v_from, moment = v_from;
    end if;
    v_until := least(v_settled, rolecall.begin_of_bin(3600, v_from) + interval '1 hour');
    if v_until <= v_from then
        return false;
    end if;
    -- An hour that was begun in narrow bins is ended in them.
    if v_from = rolecall.begin_of_bin(3600, v_from) then
        select min(width) into v_width from rolecall.history_tiers() where wider is null or v_from >= v_settled - kept;
    end if;
    perform rolecall.count_ended(v_width, v_from, v_until);
    perform rolecall.count_retried(v_width, v_from, v_until);
    if v_until = v_settled then
        perform rolecall.count_open(v_width, rolecall.begin_of_bin(v_width, v_until - interval '1 us'), rolecall.clock());
    end if;
    for v_tier in
        select tier.width, tier.wider, rolecall.begin_of_bin(tier.wider, v_from) as begun, rolecall.begin_of_bin(tier.wider, v_until) as over
        from rolecall.history_tiers() as tier
        where tier.wider is not null and tier.width >= v_width
        order by tier.width
    loop
        if v_tier.begun < v_tier.over then
            insert into rolecall.history
            select * from rolecall.history_bins(null, v_tier.wider, v_tier.width, v_tier.begun, v_tier.over);
        end if;
    end loop;
    update rolecall.history_until set moment = v_until;
    return v_until < v_settled;
end
$$;
