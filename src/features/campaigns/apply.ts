/** Applies the changes of a request to a campaign, apart from its status. */
import { isDeepStrictEqual } from 'node:util';
import { Problems } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { changedValues } from '../../platform/db/revisions.ts';
import { filtersIn, filtersOf, requireAudience } from './audience.ts';
import { addForeignTemplates, hideTemplates, writeContent } from './content.ts';
import { type CampaignRow, type CampaignValues, findCampaignById, updateCampaign } from './model.ts';
import type { CampaignOptions } from './options.ts';
import type { ChangeCampaignBody, TriggerAttributes } from './schema.ts';
import { campaignTransitions } from './transitions.ts';

/** Removes options that are null, so that equal options compare as equal. */
function withoutNulls<T extends object>(given: T): T {
  const entries = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  const inner = entries.map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'object' && value !== null && !Array.isArray(value) ? withoutNulls(value) : value,
  ]);
  return Object.fromEntries(inner) as T;
}

/** Splits `data`, as a client sends it, into the columns that store it. */
export function splitData(given: Record<string, unknown> & { options: CampaignOptions }): {
  data: Record<string, unknown>;
  options: CampaignOptions;
} {
  const { options, progress: _progress, outcome: _outcome, stop: _stop, ...data } = given;
  return { data, options: withoutNulls(options) };
}

/** Returns the trigger's columns after a request. Fields left out keep their values. */
export function mergeTrigger(
  row: Pick<
    CampaignRow,
    'contact_list_id' | 'segment_id' | 'trigger_event' | 'trigger_data' | 'trigger_filters'
  >,
  given: TriggerAttributes | undefined,
) {
  const or = <T>(value: T | undefined, old: T): T => (value === undefined ? old : value);
  return {
    contact_list_id: or(given?.contact_list_id, row.contact_list_id),
    segment_id: or(given?.segment_id, row.segment_id),
    trigger_event: or(given?.event, row.trigger_event),
    trigger_data: given?.data === null ? {} : or(given?.data, row.trigger_data),
    trigger_filters: given?.data === undefined ? row.trigger_filters : filtersIn(given.data ?? {}),
  };
}

/** Fields of a request that {@link applyChanges} takes. */
export type Changes = Pick<
  ChangeCampaignBody,
  'name' | 'channel' | 'data' | 'trigger_attributes' | 'template_attributes'
>;

/** What has changed, and so must be pinned again. */
export interface Applied {
  row: CampaignRow;
  /** Whether its recipients, or the way in which it is sent, have changed. */
  audience: boolean;
  content: boolean;
}

/**
 * Changes the channel. The new template gets only the body of the former one, because the other fields are for email.
 */
async function changeChannel(trx: Queryable, scope: BrandScope, row: CampaignRow): Promise<number> {
  const { rows } = await trx.query<{ body: string | null }>('select body from templates where id = $1', [
    row.template_id,
  ]);
  await hideTemplates(trx, row.id, [row.template_id ?? 0]);
  return writeContent(trx, scope, { ...row, template_id: null }, { body: rows[0]?.body ?? null });
}

/** @throws AppError invalid_transition if the campaign's state does not allow one of the changes */
function requireChanges(
  row: CampaignRow,
  { channel, trigger_attributes: trigger, template_attributes: content }: Changes,
  otherOptions: boolean,
): void {
  const otherChannel = channel !== undefined && channel !== row.channel;
  if (otherChannel && row.status !== 'draft') throw campaignTransitions.refusal(row, 'change_content');
  if (trigger || otherOptions) campaignTransitions.requireAllowed(row, 'change_audience');
  if (content) campaignTransitions.requireAllowed(row, 'change_content');
}

/** @returns the template's id after the changes, if they affect it */
async function changeTemplate(
  trx: Queryable,
  scope: BrandScope,
  row: CampaignRow,
  { channel = row.channel, template_attributes: content }: Changes,
): Promise<number | undefined> {
  const template = {
    ...row,
    channel,
    template_id:
      channel === row.channel ? row.template_id : await changeChannel(trx, scope, { ...row, channel }),
  };
  if (content) return writeContent(trx, scope, template, content);
  return template.template_id ?? undefined;
}

/**
 * Applies the changes of a request to a locked campaign.
 * @throws AppError validation_error, invalid_transition
 */
export async function applyChanges(
  trx: Queryable,
  scope: BrandScope,
  row: CampaignRow,
  changes: Changes,
): Promise<Applied> {
  const { name, channel, data, trigger_attributes: trigger, template_attributes: content } = changes;
  const split = data && splitData(data);
  const otherOptions = split !== undefined && !isDeepStrictEqual(split.options, row.options);
  requireChanges(row, changes, otherOptions);
  const values: CampaignValues = { ...split };
  if (name !== undefined) values.name = name;
  if (channel !== undefined) values.channel = channel;
  if (trigger) {
    const merged = mergeTrigger(row, trigger);
    await requireAudience(trx, scope, merged);
    if (changedValues(row, merged)) {
      Object.assign(values, merged, { trigger_updated_at: new Date() });
      // The database refuses filters beside an audience that was pinned without them. It is pinned again after this.
      if (filtersOf(merged)) values.audience = null;
    }
  }
  if (split && otherOptions) {
    const problems = new Problems();
    await addForeignTemplates(
      trx,
      scope,
      { ...row, channel: channel ?? row.channel, options: split.options },
      problems,
    );
    problems.throwIfAny();
  }
  const templateId = await changeTemplate(trx, scope, row, changes);
  if (templateId !== undefined) values.template_id = templateId;
  const updated = await updateCampaign(trx, row, values);
  return {
    // A change of the template has raised the revision of the campaign, too.
    row: content === undefined ? updated : ((await findCampaignById(trx, row.id)) as CampaignRow),
    audience: trigger !== undefined || otherOptions,
    content: content !== undefined,
  };
}
