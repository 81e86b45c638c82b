-- Creates the database of myapp and a login for each service of compose.yaml, with Rolecall's database roles, to which
-- `rolecall migrate --roles` grants their rights. No login is a superuser. Grant the rights on your own tables in your migrations:
--   grant select, insert, update, delete on orders to myapp_work;
\getenv owner_password OWNER_PASSWORD
\getenv work_password WORK_PASSWORD
\getenv serve_password SERVE_PASSWORD

create role rolecall_enqueue;
create role rolecall_read;
create role rolecall_work;
create role rolecall_operate;

create role myapp_owner login password :'owner_password';
create role myapp_work login password :'work_password' in role rolecall_work;
create role myapp_serve login password :'serve_password' in role rolecall_operate;

create database myapp owner myapp_owner;
