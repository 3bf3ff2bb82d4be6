import type { Content } from '../../editors/content/content.ts';
import { isContent } from '../../editors/content/read-content.ts';

export type TemplateContent = Content & { name: string | null };

/** @returns null if the editor of templates cannot show it */
export function readDraft(value: unknown): TemplateContent | null {
  if (!isContent(value)) return null;
  const { name } = value;
  return name === null || typeof name === 'string' ? { ...value, name } : null;
}
