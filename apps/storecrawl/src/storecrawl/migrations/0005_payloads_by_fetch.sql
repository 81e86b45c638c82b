-- Lists of all crawl payloads, the newest fetch first, a page at a time.
-- breaking: no

create index payloads_by_fetch on storecrawl.payloads (fetched_at desc, id desc);
