import { isDeepStrictEqual } from 'node:util';
import { hasHtml } from '../../delivery/terms/channels/content-shapes.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { invalid, type ValidationErrors } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  findTemplate,
  insertTemplate,
  lockOwnTemplate,
  lockTemplate,
  type OwnerColumns,
  type TemplateRow,
  type TemplateValues,
  updateTemplate,
} from './model.ts';
import { otherChannel } from './compile.ts';
import { emailOnlyFields, type TemplateContent } from './schema.ts';

/** The campaign or flow step whose content a template is. */
export type TemplateOwner = { campaignId: number } | { flowId: number; actionId: number };

export const NO_OWNER: OwnerColumns = { campaign_id: null, flow_id: null, action_id: null };

function ownerColumns(owner: TemplateOwner | null): OwnerColumns {
  if (owner === null) return NO_OWNER;
  return 'campaignId' in owner
    ? { ...NO_OWNER, campaign_id: owner.campaignId }
    : { ...NO_OWNER, flow_id: owner.flowId, action_id: owner.actionId };
}

const EMPTY: TemplateValues = {
  name: null,
  subject: null,
  preheader: null,
  body: null,
  design: null,
  content_from: 'body',
  from_name: null,
  from_email: null,
  reply_to: null,
  variables: {},
};

/** Whether a text is there and not blank. */
const isGiven = (text: string | null): boolean => text !== null && text.trim() !== '';

/**
 * Decides which of body and design is sent: the one that was set last. A client that sends both back usually has
 * changed at most one. If it changes both, the design is sent.
 */
function contentFrom(before: TemplateValues, after: TemplateValues): TemplateValues['content_from'] {
  if (after.design === null) return 'body';
  if (!isGiven(after.body)) return 'design';
  if (!isDeepStrictEqual(before.design, after.design)) return 'design';
  return before.body === after.body ? before.content_from : 'body';
}

/** @throws AppError validation_error for fields that contents of the channel do not have */
function requireChannelFields(channel: Channel, content: TemplateContent): void {
  if (hasHtml(channel)) return;
  const errors: ValidationErrors = {};
  for (const field of emailOnlyFields) {
    if (content[field] !== undefined && content[field] !== null) errors[field] = ['is for email only'];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/**
 * The values of a template after a request.
 * @param before null: a new template
 * @throws AppError validation_error if an SMS gets a field that only emails have
 */
export function applyContent(
  before: TemplateValues | null,
  channel: Channel,
  content: TemplateContent,
): TemplateValues {
  requireChannelFields(channel, content);
  const old = before ?? EMPTY;
  const given = Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined));
  const { name, subject, preheader, body, design, from_name, from_email, reply_to, variables } = {
    ...old,
    ...given,
  } as TemplateValues & { variables: Record<string, unknown> | null };
  const after: TemplateValues = {
    name,
    subject,
    preheader,
    body,
    design,
    content_from: old.content_from,
    from_name,
    from_email,
    reply_to,
    variables: variables ?? {},
  };
  return { ...after, content_from: contentFrom(old, after) };
}

/** Whether a request changes what recipients see, rather than only the name or the samples. */
export function changesContent(before: TemplateValues, after: TemplateValues): boolean {
  const { name: _, variables: __, ...shownBefore } = before;
  const { name: ___, variables: ____, ...shownAfter } = after;
  return Object.entries(shownAfter).some(
    ([field, value]) => !isDeepStrictEqual(value, shownBefore[field as keyof typeof shownBefore]),
  );
}

/**
 * Writes the content of a campaign or of a flow step: changes its template, or creates it.
 * @param trx the caller's transaction, which has locked the owner
 * @param templateId selects one of several templates of the owner; by default its first
 * @throws AppError validation_error that names the field, without a prefix
 */
export async function writeOwnTemplate(
  trx: Queryable,
  scope: BrandScope,
  owner: TemplateOwner,
  channel: Channel,
  attributes: TemplateContent,
  templateId?: number | null,
): Promise<TemplateRow> {
  const columns = ownerColumns(owner);
  const row =
    typeof templateId === 'number'
      ? await lockTemplate(trx, scope, templateId)
      : await lockOwnTemplate(trx, scope, columns);
  if (!row) {
    return insertTemplate(trx, scope, columns, { ...applyContent(null, channel, attributes), channel });
  }
  return updateTemplate(trx, scope, row, applyContent(row, channel, attributes));
}

/** @throws AppError validation_error if the brand has no such template, or it is of another channel */
async function requireSource(
  trx: Queryable,
  scope: BrandScope,
  templateId: number,
  { field, channel }: { field: string; channel: Channel | undefined },
): Promise<TemplateRow> {
  const source = await findTemplate(trx, scope, templateId);
  if (!source) throw invalid({ [field]: ['is not the id of a template of this brand'] });
  if (channel !== undefined && source.channel !== channel) {
    throw invalid({ [field]: [otherChannel(source.channel, channel)] });
  }
  return source;
}

/**
 * Reads the content of a template of the brand that is to be copied.
 * @throws AppError validation_error on `template_id`
 */
export async function sourceContent(
  db: Queryable,
  scope: BrandScope,
  templateId: number,
  channel: Channel,
): Promise<TemplateValues> {
  const source = await requireSource(db, scope, templateId, { field: 'template_id', channel });
  return { ...applyContent(null, channel, source), content_from: source.content_from };
}

/**
 * Replaces the content of a template of a campaign or flow by that of another template of the brand.
 * @throws AppError validation_error on `template_id`
 */
export async function replaceContent(
  trx: Queryable,
  scope: BrandScope,
  row: TemplateRow,
  sourceId: number,
): Promise<TemplateRow> {
  return updateTemplate(trx, scope, row, await sourceContent(trx, scope, sourceId, row.channel));
}

/** The name of a copy of a campaign or a flow. */
export const copiedName = (name: string) => `${name.slice(0, 240)} (copy)`;

/**
 * Copies a template of the brand with its content and samples.
 * @param owner null: the copy is a template of the brand
 * @param options.field the field of the request, for the error
 * @throws AppError validation_error if the brand has no such template, or it is of another channel
 */
export async function copyTemplate(
  trx: Queryable,
  scope: BrandScope,
  templateId: number,
  owner: TemplateOwner | null,
  { field = 'template_id', channel, name }: { field?: string; channel?: Channel; name?: string | null } = {},
): Promise<TemplateRow> {
  const source = await requireSource(trx, scope, templateId, { field, channel });
  const values = applyContent(null, source.channel, source);
  return insertTemplate(trx, scope, ownerColumns(owner), {
    ...values,
    name: name === undefined ? source.name : name,
    content_from: source.content_from,
    channel: source.channel,
  });
}
