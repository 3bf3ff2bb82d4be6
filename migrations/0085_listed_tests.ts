/** Lets test keys list their messages without reading the live ones. */
export const name = '0085_listed_tests';

export const up = `
create index messages_test on messages (brand_id, id) where test;
`;

export const down = `
drop index messages_test;
`;
