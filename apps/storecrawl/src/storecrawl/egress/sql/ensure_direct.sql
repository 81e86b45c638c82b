insert into storecrawl.routes as known (protocol)
values ('direct')
on conflict (protocol, coalesce(host, ''), coalesce(port, 0), coalesce(username, '')) do update
set active = true, disabled_at = null, disabled_because = null, forbidden_with = '{}'
where not known.active
