/** Room in each page of `messages` for the update that every message gets. */
export const name = '0006_message_updates';

export const up = `
-- Recording an outcome rewrites the row once. A backlog's rows fill their pages before that: where a page has no
-- room for as many new versions as it has rows, most go elsewhere, each with an entry in all three indexes.
alter table messages set (fillfactor = 50);
`;

export const down = `
alter table messages set (fillfactor = 85);
`;
