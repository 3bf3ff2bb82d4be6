/** The lock that a process's heartbeat holds identifies its connection, so its pid is not stored. */
export const name = '0009_process_locks';

export const up = `
alter table processes drop column lock_backend_pid;
comment on table processes is
  'each live process; its heartbeat holds the session advisory lock (1129468233, id::int) and renews seen_at every second';
`;

export const down = `
alter table processes add column lock_backend_pid integer;
comment on table processes is
  'each live process, which holds the session advisory lock (1129468233, id::int) on its own connection';
`;
