/** The letter of a step that sends. */
import type { Content } from '../../../editors/content/content.ts';
import type { Step } from './model.ts';

/** A step takes these of a content; it has no sample values. */
const FIELDS = {
  email: ['subject', 'preheader', 'body', 'design', 'from_name', 'from_email', 'reply_to'],
  sms: ['body'],
} as const;

export const channelOf = ({ type }: Pick<Step, 'type'>): 'email' | 'sms' =>
  type === 'sms' ? 'sms' : 'email';

/** Returns what a step takes of a template's content. */
export const letterPatch = (step: Pick<Step, 'type'>, letter: Content): Partial<Step> =>
  Object.fromEntries(FIELDS[channelOf(step)].map((field) => [field, letter[field] ?? null]));
