/** Index for counting an account's scrapes within an hour, before another one begins. */
export const name = '0056_scrapes_of_account';

export const up = `
create index brand_scrapes_of_account on brand_scrapes (account_id, id desc);
`;

export const down = `
drop index brand_scrapes_of_account;
`;
