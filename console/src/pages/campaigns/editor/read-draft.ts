import { hasOnePart, isContent, isOptionalText } from '../../../editors/content/read-content.ts';
import type { DraftForm } from '../../../editors/draft/draft.ts';
import { areFilters } from '../../../editors/filters/read-filters.ts';
import { isObject } from '../../../ui/json-text.ts';
import type { EditedCampaign } from './content.ts';

const isOptionalId = (value: unknown): boolean => value === null || typeof value === 'number';

const areOptionalIds = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((id) => typeof id === 'number'));

const isAudience = (value: unknown): boolean =>
  isObject(value) &&
  isOptionalId(value.contact_list_id) &&
  isOptionalId(value.segment_id) &&
  isObject(value.data) &&
  areOptionalIds(value.data.exclude_list_ids) &&
  areOptionalIds(value.data.exclude_segment_ids) &&
  (value.data.filters === undefined || areFilters(value.data.filters));

const isEditedCampaign = (value: unknown): value is EditedCampaign =>
  isObject(value) &&
  typeof value.name === 'string' &&
  isOptionalText(value.scheduled_at) &&
  isObject(value.data) &&
  isObject(value.data.options) &&
  isAudience(value.trigger_attributes) &&
  isContent(value.template_attributes);

/** @returns null if the editor of campaigns cannot show it */
export const readDraft = (value: unknown): EditedCampaign | null => (isEditedCampaign(value) ? value : null);

export const campaignForm: DraftForm<EditedCampaign> = {
  read: readDraft,
  isSound: ({ template_attributes: letter }, { mine, theirs }) =>
    hasOnePart(letter, [mine.template_attributes, theirs.template_attributes]),
};
