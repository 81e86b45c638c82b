-- breaking: no
-- The scope of a login or key that may use the own-tasks routes and nothing else.
alter type rolecall.scope add value if not exists 'own' before 'read';
