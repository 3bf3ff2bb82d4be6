export const name = '0101_kept_uploads';

export const up = `
alter table uploads add column kept boolean not null default false;
`;

export const down = `
alter table uploads drop column kept;
`;
