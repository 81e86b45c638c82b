-- breaking: no
-- handlers_with_defaults stands for it.
drop index rolecall.handlers_with_keys;
