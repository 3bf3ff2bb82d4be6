/** Indexes for counting the candidates of a validation without reading a million contacts. */
export const name = '0059_validation_quotes';

export const up = `
create index contacts_with_email on contacts (brand_id, id) include (email_key) where email is not null;

alter table contact_verdicts add column brand_id bigint;
comment on column contact_verdicts.brand_id is
  'of the contact, so that results to use again are found by brand; null: written before it was kept, and not used again';
update contact_verdicts v set brand_id = c.brand_id from contacts c where c.id = v.contact_id and v.reusable;
create index contact_verdicts_reusable on contact_verdicts (brand_id, contact_id) include (email_key, checked_at)
  where reusable;
`;

export const down = `
drop index contact_verdicts_reusable;
alter table contact_verdicts drop column brand_id;
drop index contacts_with_email;
`;
