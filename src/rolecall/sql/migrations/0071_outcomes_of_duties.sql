-- breaking: no
-- How the last runs of each duty went, so that a duty that fails is reported.
alter table rolecall.duties
    add succeeded_at timestamptz,
    add unfinished_since timestamptz,
    add error text,
    add constraint only_an_unfinished_duty_has_an_error check (error is null or unfinished_since is not null);
