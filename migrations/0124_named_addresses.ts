/** The addresses that stored filters name, so that they can be cleared when their contact is deleted. */
export const name = '0124_named_addresses';

const add = (table: string) => `
alter table ${table} add column named bytea[];
comment on column ${table}.named is 'hashes of the addresses in its filters; null in rows of older versions';
create index ${table}_named on ${table} using gin (named) where cardinality(named) > 0;
create index ${table}_unread on ${table} (brand_id) where named is null;
`;

export const up = `${add('bulk_actions')}${add('exports')}`;

export const down = `
alter table exports drop column named;
alter table bulk_actions drop column named;
`;
