-- breaking: no
-- Room on each page for the row that a claim makes of a task: both on one page are written down shorter. It counts for pages that are
-- filled from now on, and nobody waits for it.
alter table rolecall.tasks set (fillfactor = 45);
