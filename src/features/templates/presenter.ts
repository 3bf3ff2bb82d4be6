import type { ListedTemplateRow, TemplateRow } from './model.ts';
import type { ListedVersion } from './template-versions.ts';
import type { Template, TemplateSummary, TemplateVersion } from './schema.ts';

/** Presents a template in a list. */
export function presentSummary(row: ListedTemplateRow): TemplateSummary {
  return {
    id: row.id,
    channel: row.channel,
    campaign_id: row.campaign_id,
    flow_id: row.flow_id,
    action_id: row.action_id,
    name: row.name,
    subject: row.subject,
    body: row.body,
    design: null,
    preheader: row.preheader,
    from_name: row.from_name,
    from_email: row.from_email,
    reply_to: row.reply_to,
    content_from: row.content_from,
    variables: row.variables,
    revision: row.revision,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Presents a template to clients. */
export function presentTemplate(row: TemplateRow): Template {
  return { ...presentSummary(row), body: row.body, design: row.design };
}

export function presentVersion(row: ListedVersion): TemplateVersion {
  return {
    id: row.id,
    template_id: row.template_id,
    channel: row.channel,
    subject: row.subject,
    preheader: row.preheader,
    from_name: row.from_name,
    from_email: row.from_email,
    reply_to: row.reply_to,
    segments: row.segments,
    created_at: row.created_at.toISOString(),
  };
}
