-- A raw menu says what its answers were: a fetch that brings the same again need not look into them.
-- breaking: no

alter table storecrawl.raw_menus
    add column digests text[] not null default '{}';

comment on column storecrawl.raw_menus.digests is
    'What tells each answer from any other, with what it was the answer to; those refused are left out, all are where a page was empty.';
