-- Picks up to p_limit tasks from several lines of one priority, by claim order across them. A line that gives
-- less than its share has no more (its tasks wait for keys, or others have them), and the rest is shared out
-- anew among the others.
-- returns: one row: picked tasks, locked, with the slot that each wins; which of them won one
-- locks: tasks rows, then keys rows in key order, all skipping locked ones
create or replace function rolecall.pick_from_level(
    p_level int[], p_claimant rolecall.claimant, p_limit int, p_taken bigint[], p_now timestamptz
)
returns table (ids bigint[], slots smallint[], keyed bigint[])
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_left int[] := p_level;
    v_taken bigint[] := p_taken;
    v_shared boolean := true;
    v_share record;
    v_got record;
begin
    ids := '{}';
    keyed := '{}';
    slots := '{}';
    perform rolecall.renew_floors(p_level, p_now);
    while v_shared and cardinality(ids) < p_limit loop
        v_shared := false;
        for v_share in
            select * from rolecall.share_out(v_left, p_limit - cardinality(ids), v_taken, p_now)
            union all
            -- Where nobody has a share, a line may still have something below the floor of this session.
            select line, null from unnest(v_left) as line
        loop
            exit when cardinality(ids) >= p_limit or (v_share.number is null and cardinality(ids) > 0);
            exit when v_share.number is null and v_shared;
            select * into v_got from rolecall.claim_from_line(
                v_share.line_id, p_claimant, least(v_share.number, p_limit - cardinality(ids)), v_taken, p_now
            );
            v_shared := v_share.number is not null;
            if cardinality(v_got.ids) < v_share.number then
                v_left := array_remove(v_left, v_share.line_id);
            end if;
            ids := ids || v_got.ids;
            keyed := keyed || v_got.keyed;
            slots := slots || v_got.slots;
            -- Only a winner of a key can stand in another line than the one that was walked.
            v_taken := v_taken || v_got.keyed;
        end loop;
        v_taken := p_taken || ids;
    end loop;
    return next;
end
$$;
