/** Marks the templates that test keys have created. Test keys may change no others. */
export const name = '0086_templates_of_test_keys';

export const up = `
alter table templates add column by_test_key boolean not null default false;
comment on column templates.by_test_key is 'whether a test key has created it, and test keys may change it';
`;

export const down = `
alter table templates drop column by_test_key;
`;
