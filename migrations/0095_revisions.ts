/** For editors: revisions, so that an editor does not overwrite the changes of another, and pages of previews. */
export const name = '0095_revisions';

const tables = ['campaigns', 'templates', 'segments', 'brands', 'flows'];

export const up = tables
  .map(
    (table) => `
alter table ${table} add column revision int not null default 1;
comment on column ${table}.revision is 'raised by each change of what a client can set; not by counters. Clients see it as the ETag';
`,
  )
  .concat(
    `
create table previews (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  brand_id bigint not null references brands on delete cascade,
  page text not null,
  expires_at timestamptz not null
);
comment on table previews is 'pages that can be opened at a signed URL for a minute';
create index previews_of_brand on previews (brand_id, id);
`,
  )
  .join('');

export const down = `drop table previews;
${tables.map((table) => `alter table ${table} drop column revision;`).join('\n')}`;
