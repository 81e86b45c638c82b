-- breaking: no
-- transaction: no
-- What was tried often is counted for metrics; what is not, nearly all, costs nothing here.
create index concurrently tasks_tried_often on rolecall.tasks (line_id) where attempt >= 5;
