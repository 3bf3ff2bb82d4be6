/** Records since when nothing refers to a template version, so that it is removed once no message can have it. */
export const name = '0048_unnamed_versions';

export const up = `
alter table template_versions add column unnamed_at timestamptz;
comment on column template_versions.unnamed_at is
  'since when no template, campaign or flow names it, as housekeeping has found; null: one does, or it was not looked at';
create index template_versions_unnamed on template_versions (unnamed_at) where unnamed_at is not null;
`;

export const down = `
drop index template_versions_unnamed;
alter table template_versions drop column unnamed_at;
`;
