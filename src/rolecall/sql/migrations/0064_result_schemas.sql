-- breaking: no
-- What a handler's results are made of, by which those who show them know what nobody is to read.
alter table rolecall.handlers add column result_schema jsonb;
