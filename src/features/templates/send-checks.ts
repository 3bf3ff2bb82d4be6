/** Checks contents before a campaign or flow sends them. */
import { hasHtml } from '../../delivery/terms/channels/content-shapes.ts';
import type { Problem, VersionContent } from '../../delivery/content/templates/content.ts';
import { MAX_SMS_SEGMENTS, smsSegments } from '../../delivery/content/templates/sms-text.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { isPaidBySegment } from '../../delivery/terms/units.ts';
import type { CheckProblem, Problems } from '../../errors.ts';
import type { Brand } from '../brands/schema.ts';
import { fieldMessage } from './compile.ts';

/**
 * Adds the problems of a compiled content.
 * @param field returns the path in the request of a template's field
 */
export function addContentProblems(
  problems: Problems,
  pinned: {
    version: Pick<VersionContent, 'channel' | 'subject' | 'text'> | null;
    problems: readonly Problem[];
  },
  field: (name: string) => string,
): void {
  for (const problem of pinned.problems) problems.add({ [field(problem.field)]: [fieldMessage(problem)] });
  const { version } = pinned;
  if (version && hasHtml(version.channel) && !version.subject?.trim()) {
    problems.add({ [field('subject')]: ['is required'] });
  }
  if (!version || !isPaidBySegment(version.channel)) return;
  const segments = smsSegments(version.text ?? '');
  if (segments > MAX_SMS_SEGMENTS) {
    const message = `needs ${segments} segments; the maximum is ${MAX_SMS_SEGMENTS}`;
    problems.add({ [field('body')]: [message] });
  }
}

/**
 * Adds what is missing for the footer of an email: the postal address of the brand, or the base URL of unsubscribe
 * links.
 * @param what the kind of mail, such as `campaigns`
 */
export function addFooterProblems(
  problems: Problems,
  channel: Channel,
  { brand, publicUrl }: { brand: Pick<Brand, 'physical_address'>; publicUrl: string | null },
  what: string,
): void {
  if (!hasHtml(channel)) return;
  if (!brand.physical_address?.trim()) {
    problems.add({ 'brand.physical_address': [`is required to send ${what}; set it with PUT /brand`] });
  }
  if (publicUrl === null) {
    problems.add({ unsubscribe_url: ['is empty: the operator of the service must set PUBLIC_URL'] });
  }
}

/** What a check has found, without the errors that prevent the content from being compiled, which it finds, too. */
export const withoutErrors = (found: readonly Problem[], errors: readonly Problem[]): Problem[] =>
  found.filter(
    ({ field, message }) => !errors.some((each) => each.field === field && each.message === message),
  );

export const asWarnings = (problems: readonly Problem[]): CheckProblem[] =>
  problems.map((problem) => ({ ...problem, severity: 'warning' }));
