/** What was live when a draft began, and a faster way to who changed a resource last. */
export const name = '0102_draft_bases';

export const up = `
alter table drafts add column base_content json;
comment on column drafts.base_content is 'what the editor had of the resource at \`base\`, in the form of \`content\`; null if it did not send it';
create index audit_entries_resource on audit_entries (account_id, action, resource_id, id desc) where status = 200;
`;

export const down = `
drop index audit_entries_resource;
alter table drafts drop column base_content;
`;
