/** What the editor edits of a campaign, in the form in which the API takes it. */
import type { Schemas } from '../../../api/client.ts';
import { LETTER_FIELDS, type Content, withoutDraftFields } from '../../../editors/content/content.ts';
import { isBegun } from '../waiting.ts';

type Campaign = Schemas['Campaign'];
export type Options = Schemas['CampaignOptions'];
type Filters = Schemas['Filter'][];

/** The contacts that a campaign is for. */
export interface Audience {
  contact_list_id: number | null;
  segment_id: number | null;
  data: {
    exclude_list_ids?: number[];
    exclude_segment_ids?: number[];
    filters?: Filters;
  } & Record<string, unknown>;
}

export interface EditedCampaign {
  name: string;
  scheduled_at: string | null;
  data: { options: Options } & Record<string, unknown>;
  trigger_attributes: Audience;
  template_attributes: Content;
}

const SENDER_FIELDS: ReadonlySet<string> = new Set(['from_name', 'from_email', 'reply_to']);

type Letter = Pick<Schemas['Template'], (typeof LETTER_FIELDS)[number] | 'content_from'>;

/** A content without the part that is not sent, so that it is clear which of body and design counts. */
export function letterOf(template: Letter): Content {
  const { content_from: from } = template;
  const letter = Object.fromEntries(LETTER_FIELDS.map((field) => [field, template[field]])) as Content;
  return template.design === null ? letter : { ...letter, [from === 'design' ? 'body' : 'design']: null };
}

export function editedCampaignOf({ name, scheduled_at, data, trigger, template }: Campaign): EditedCampaign {
  const { progress: _progress, outcome: _outcome, stop: _stop, ...own } = data;
  return {
    name,
    scheduled_at,
    data: own,
    trigger_attributes: {
      contact_list_id: trigger.contact_list_id,
      segment_id: trigger.segment_id,
      data: trigger.data,
    },
    template_attributes: letterOf(template),
  };
}

type Patch = Pick<EditedCampaign, 'name'> &
  Partial<Pick<EditedCampaign, 'scheduled_at' | 'data'>> & {
    trigger_attributes?: Audience;
    template_attributes: Schemas['TemplateAttributes'];
  };

/** What may change: everything of a draft; the content of a campaign whose recipients are fixed, but not its sender. */
export type Stage = 'draft' | 'waiting' | 'begun';

/** @returns null if nothing of the campaign may change now */
export function stageOf(campaign: Pick<Campaign, 'status' | 'data'>): Stage | null {
  if (campaign.status === 'draft') return 'draft';
  if (campaign.status !== 'paused') return null;
  return isBegun(campaign) ? 'begun' : 'waiting';
}

/** The changes as a request takes them. */
export function patchOf(content: EditedCampaign, stage: Stage): Patch {
  const letter = withoutDraftFields(content.template_attributes) as Schemas['TemplateAttributes'];
  if (stage !== 'begun') return { ...content, template_attributes: letter };
  const kept = Object.entries(letter).filter(([field]) => !SENDER_FIELDS.has(field));
  return { name: content.name, template_attributes: Object.fromEntries(kept) };
}

/** The contacts of an audience, as filters of a segment. @returns null if there is no audience */
export function audienceFilters({
  contact_list_id: listId,
  segment_id: segmentId,
  data,
}: Audience): Filters | null {
  const { exclude_list_ids: lists = [], exclude_segment_ids: segments = [], filters = [] } = data;
  if (listId === null && segmentId === null && filters.length === 0) return null;
  return [
    ...filters,
    ...(listId === null ? [] : [{ name: 'list', predicate: 'in' as const, value: [listId] }]),
    ...(segmentId === null ? [] : [{ name: 'segment', predicate: 'in' as const, value: [segmentId] }]),
    ...(lists.length === 0 ? [] : [{ name: 'list', predicate: 'not_in' as const, value: lists }]),
    ...(segments.length === 0 ? [] : [{ name: 'segment', predicate: 'not_in' as const, value: segments }]),
  ];
}

/** Those who get messages of a channel at all. */
export const reachableFilters = (channel: Campaign['channel']): Filters =>
  channel === 'email'
    ? [
        { name: 'email', predicate: 'present' },
        { name: 'subscribed_email', predicate: 'true' },
      ]
    : [
        { name: 'phone', predicate: 'present' },
        { name: 'subscribed_phone', predicate: 'true' },
      ];
