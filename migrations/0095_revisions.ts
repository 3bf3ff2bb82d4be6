/** Revisions of what editors change, so that an editor does not overwrite the changes of another. */
export const name = '0095_revisions';

const tables = ['campaigns', 'templates', 'segments', 'brands', 'flows'];

export const up = tables
  .map(
    (table) => `
alter table ${table} add column revision int not null default 1;
comment on column ${table}.revision is 'raised by each change of what a client can set; not by counters. Clients see it as the ETag';
`,
  )
  .join('');

export const down = tables.map((table) => `alter table ${table} drop column revision;`).join('\n');
