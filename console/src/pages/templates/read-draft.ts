import type { Content } from '../../editors/content/content.ts';
import { hasOnePart, isContent } from '../../editors/content/read-content.ts';
import type { DraftForm } from '../../editors/draft/draft.ts';

export type TemplateContent = Content & { name: string | null };

/** @returns null if the editor of templates cannot show it */
export function readDraft(value: unknown): TemplateContent | null {
  if (!isContent(value)) return null;
  const { name } = value;
  return name === null || typeof name === 'string' ? { ...value, name } : null;
}

export const templateForm: DraftForm<TemplateContent> = {
  read: readDraft,
  isSound: (merged, { mine, theirs }) => hasOnePart(merged, [mine, theirs]),
};
