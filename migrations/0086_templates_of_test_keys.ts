/** Says which templates test keys have created: those alone may test keys change. */
export const name = '0086_templates_of_test_keys';

export const up = `
alter table templates add column by_test_key boolean not null default false;
comment on column templates.by_test_key is 'whether a test key has created it, and test keys may change it';
`;

export const down = `
alter table templates drop column by_test_key;
`;
