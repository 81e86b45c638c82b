-- Note that the statistics are merged.
update storecrawl.derivation
set ended_at = clock_timestamp()
