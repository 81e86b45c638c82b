-- breaking: no
-- What takes or returns something else than before, or is not needed any more; all functions are applied anew after this.
drop function if exists rolecall.try_to_release(bigint, bigint[], int[]);
drop function if exists rolecall.try_to_deregister(bigint);
drop function if exists rolecall.try_to_rescue(int, interval);
drop function if exists rolecall.make_way(rolecall.schedules[]);
