/** Index of contacts whose email address has a tag, by the address without the tag. */
export const name = '0033_contact_tags';

export const up = `
create index contacts_untagged on contacts (brand_id, address_without_tag(email_key)) where email_key like '%+%';
`;

export const down = `
drop index contacts_untagged;
`;
