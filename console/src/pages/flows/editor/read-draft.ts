import { isOptionalText } from '../../../editors/content/read-content.ts';
import { areFilters } from '../../../editors/filters/read-filters.ts';
import { isObject } from '../../../ui/json-text.ts';
import type { FlowContent, Step } from './model.ts';

const isOptionalId = (value: unknown): boolean => value === null || typeof value === 'number';
const areOptionalFilters = (value: unknown): boolean => value === undefined || areFilters(value);
const areOptionalSteps = (value: unknown): boolean =>
  value === undefined || value === null || areSteps(value);

const isTrigger = (value: unknown): boolean =>
  isObject(value) &&
  (value.event === null || typeof value.event === 'string') &&
  isOptionalId(value.contact_list_id) &&
  isOptionalId(value.segment_id) &&
  isObject(value.data) &&
  areOptionalFilters(value.data.filters) &&
  areOptionalFilters(value.data.exit_filters);

const isSplitBranch = (value: unknown): boolean =>
  isObject(value) && typeof value.weight === 'number' && areSteps(value.steps);

/** Whether a value has the shape of a step. */
export const isStep = (value: unknown): value is Step =>
  isObject(value) &&
  typeof value.type === 'string' &&
  (typeof value.id === 'number' || typeof value.ref === 'string') &&
  areOptionalSteps(value.yes) &&
  areOptionalSteps(value.no) &&
  (value.branches === undefined || (Array.isArray(value.branches) && value.branches.every(isSplitBranch)));

function areSteps(value: unknown): boolean {
  return Array.isArray(value) && value.every(isStep);
}

const isFlowContent = (value: unknown): value is FlowContent =>
  isObject(value) &&
  typeof value.name === 'string' &&
  isOptionalText(value.goal) &&
  (value.unknown === undefined || value.unknown === 'leave' || value.unknown === 'resend') &&
  isTrigger(value.trigger) &&
  areSteps(value.steps);

/** @returns null if the editor of flows cannot show it */
export const readDraft = (value: unknown): FlowContent | null => (isFlowContent(value) ? value : null);
