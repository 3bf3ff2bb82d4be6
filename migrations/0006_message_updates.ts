/** Free space in each page of `messages`, because every message is updated once. */
export const name = '0006_message_updates';

export const up = `
-- Recording an outcome updates the row once, and the pages of a backlog are full before that. Unless a page has space
-- for a new version of each of its rows, most versions go to other pages, each with an entry in all three indexes.
alter table messages set (fillfactor = 50);
`;

export const down = `
alter table messages set (fillfactor = 85);
`;
