-- Draws the conclusions from endings: who needed one that ended may run or fails with it, what a failed or cancelled one leaves open
-- is ended too, and a parent whose last child ended goes on, the deepest first. Then it frees the keys of all.
-- returns: nothing
-- raises: nothing
-- locks: children that needed one of them, in id order; what is left open below; then parents, the deepest first, in id order; others
--        that needed one of them, in id order; keys rows in key order
-- notifies: rolecall_wake, where an idle worker waits for a role; rolecall_cancel with the workers of descendants
create or replace function rolecall.conclude(p_endings rolecall.ending[], p_keys text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_new rolecall.ending[] := p_endings;
    v_children rolecall.ending[] := '{}';
    v_needed rolecall.ending[] := '{}';
    v_level int;
    v_keys text[] := p_keys;
    v_more rolecall.ending[];
    v_got record;
begin
    loop
        if cardinality(v_new) > 0 then
            v_children := v_children || array(
                select ending from unnest(v_new) as ending where ending.parent_id is not null and ending.continued is not true
            );
            v_needed := v_needed || array(select ending from unnest(v_new) as ending where ending.needed);
            select * into v_got from rolecall.release_dependents(v_new, true);
            v_more := v_got.endings;
            v_keys := v_keys || v_got.keys;
            select * into v_got from rolecall.end_descendants(v_new);
            v_got.endings := v_more || v_got.endings;
        elsif v_children <> '{}' then
            -- Whoever locks several parents takes the deepest first: no two can wait for each other.
            v_level := (select max(ending.depth) from unnest(v_children) as ending);
            select * into v_got
            from rolecall.settle_parents(array(select ending from unnest(v_children) as ending where ending.depth = v_level));
            v_children := array(select ending from unnest(v_children) as ending where ending.depth < v_level);
        elsif v_needed <> '{}' then
            select * into v_got from rolecall.release_dependents(v_needed, false);
            v_needed := '{}';
        else
            exit;
        end if;
        v_new := v_got.endings;
        v_keys := v_keys || v_got.keys;
    end loop;
    perform rolecall.unpark_heads(v_keys);
end
$$;
