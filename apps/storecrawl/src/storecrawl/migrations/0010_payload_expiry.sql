-- The file of a crawl payload may be removed by a retention policy; its row stays and says since when.
-- breaking: no

alter table storecrawl.payloads add column expired_at timestamptz;

comment on table storecrawl.payloads is
    'One row a crawl payload file; never deleted. Any of them can be applied again while its file is kept.';
comment on column storecrawl.payloads.expired_at is
    'When a retention policy had the file removed; null while it is kept.';

create index kept_payloads_by_store on storecrawl.payloads (store_id, fetched_at desc, id desc)
    where expired_at is null;
