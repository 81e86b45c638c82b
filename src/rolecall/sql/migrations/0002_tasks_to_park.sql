-- breaking: no
-- A claim that meets a busy key finds what else is to be parked without reading what is parked already, or all that is claimable.

create index tasks_to_park on rolecall.tasks (key) where state = 'pending' and parked is not true and key is not null;
