-- Whom answers 403 are held against: a route on which several stores are forbidden and on no other, else each store.
-- breaking: no

alter table storecrawl.routes
    add column paused_until timestamptz,
    add column paused_because text,
    add column pauses integer not null default 0,
    add column probed_at timestamptz,
    add constraint paused_says_why check ((paused_until is null) = (paused_because is null)),
    add constraint only_a_paused_route_is_probed check (probed_at is null or paused_until is not null),
    add constraint pauses_are_counted check (pauses >= 0);

comment on column storecrawl.routes.paused_until is 'From then on one visit may try it; null when it is not paused.';
comment on column storecrawl.routes.pauses is 'How often in a row it was paused: each pause is longer than the one before.';
comment on column storecrawl.routes.probed_at is 'When the visit began that tries it.';

create table storecrawl.forbidden_visits (
    route_id bigint not null references storecrawl.routes (id) on delete cascade,
    about    text not null,
    last_at  timestamptz not null default clock_timestamp(),

    constraint one_row_per_route_and_subject primary key (route_id, about)
);

create index forbidden_visits_by_subject on storecrawl.forbidden_visits (about);

comment on table storecrawl.forbidden_visits is 'What was asked about on a route and answered 403 since its last good answer: the evidence against it.';
comment on column storecrawl.forbidden_visits.about is 'A store by the platform''s id, or what else was asked.';

-- Whether another route was forbidden the same within the last hour: then it is no matter of the route.
create function storecrawl.is_forbidden_elsewhere(p_route_id bigint, p_about text)
returns boolean
language sql
stable
as $$
    select exists (
        select
        from storecrawl.forbidden_visits as other
        join storecrawl.routes as route on route.id = other.route_id
        where other.about = p_about
            and other.route_id <> p_route_id
            and other.last_at > clock_timestamp() - interval '1 hour'
            and route.active
    )
$$;

create table storecrawl.blocked_stores (
    store_id      bigint primary key references storecrawl.stores (id),
    blocked_at    timestamptz not null default clock_timestamp(),
    blocked_until timestamptz not null,
    times         integer not null default 1,
    because       text not null,

    constraint times_are_counted check (times > 0)
);

comment on table storecrawl.blocked_stores is 'Stores whose menu the upstream refuses to us, by whatever route; gone with the next menu that comes.';
comment on column storecrawl.blocked_stores.blocked_until is 'When it is asked again; each time in a row is later.';

-- These were disabled for good by answers that may all have been about one store.
update storecrawl.routes
set active = true, disabled_at = null, disabled_because = null, forbidden_with = '{}'
where disabled_because like '% answers 403 in a row, each to another profile: %';
