-- breaking: no
-- No id is greater than 2^53 - 1: JSON numbers are exact until there, in every language.
alter table rolecall.tasks alter column id set maxvalue 9007199254740991;
alter table rolecall.workers alter column id set maxvalue 9007199254740991;
alter table rolecall.schedules alter column id set maxvalue 9007199254740991;
alter table rolecall.schedule_runs alter column id set maxvalue 9007199254740991;
alter table rolecall.deeds alter column id set maxvalue 9007199254740991;
alter table rolecall.api_keys alter column id set maxvalue 9007199254740991;
alter table rolecall.people alter column id set maxvalue 9007199254740991;
