-- Two more statuses of a location; in a step of their own, since a new value can be used once it is committed.
-- breaking: no

alter type storecrawl.location_status add value 'linked';
alter type storecrawl.location_status add value 'needs_investigation';
