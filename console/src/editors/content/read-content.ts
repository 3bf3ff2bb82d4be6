import { isObject } from '../../ui/json-text.ts';
import type { Content } from './content.ts';

const TEXTS = ['subject', 'preheader', 'body', 'from_name', 'from_email', 'reply_to'] as const;

const isMissing = (value: unknown): value is null | undefined => value === null || value === undefined;

export const isOptionalText = (value: unknown): boolean => isMissing(value) || typeof value === 'string';

const isOptionalObject = (value: unknown): boolean => isMissing(value) || isObject(value);

function areSections(value: unknown): boolean {
  return Array.isArray(value) && value.every(isSection);
}

function isSection(value: unknown): boolean {
  if (!isObject(value) || typeof value.type !== 'string' || !isObject(value.props)) return false;
  if (value.type !== 'columns') return true;
  const { columns } = value.props;
  return (
    Array.isArray(columns) && columns.every((column) => isObject(column) && areSections(column.sections))
  );
}

const isDesign = (value: unknown): boolean =>
  isObject(value) && areSections(value.sections) && isOptionalObject(value.theme);

const isOptionalDesign = (value: unknown): boolean => isMissing(value) || isDesign(value);

/** Whether something that was stored has the shape that the editor of contents needs. */
export function isContent(value: unknown): value is Content {
  if (!isObject(value) || !TEXTS.every((name) => isOptionalText(value[name]))) return false;
  const { put_aside: aside } = value;
  const isAside =
    isMissing(aside) || (isObject(aside) && isOptionalText(aside.body) && isOptionalDesign(aside.design));
  return isOptionalObject(value.variables) && isOptionalDesign(value.design) && isAside;
}

/**
 * Whether a merge of two contents has not put the text of one beside the design of the other. Only one part is sent,
 * and it would not be clear which one.
 */
export function hasOnePart(merged: Content, versions: readonly Content[]): boolean {
  const hasBoth = ({ body, design }: Content) => (body ?? '') !== '' && Boolean(design);
  return !hasBoth(merged) || versions.some(hasBoth);
}
