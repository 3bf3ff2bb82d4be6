/** The rules between the fields of POST /messages. */
import { z } from 'zod';
import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { parsePhone } from '../../delivery/terms/addresses/phone.ts';
import { hasLiquid, noLiquid } from '../../delivery/terms/texts/no-liquid.ts';
import { emailOnlyFields } from './channel-rules.ts';
import { recipientsOf, textsIn } from './recipient-fields.ts';

type Body = Record<string, unknown>;
type Report = (field: string, message: string) => void;

function isBlank(text: unknown): boolean {
  return typeof text === 'string' && text.trim() === '';
}

function smsRules(body: Body, report: Report): void {
  for (const name of emailOnlyFields) if (body[name] !== undefined) report(name, 'is for email only');
  if (Array.isArray(body.to))
    report('to', 'must be one phone number: only an email may have several recipients');
  if (body.body === undefined && body.template_id === undefined) {
    report('body', 'is required for sms, unless template_id is given');
  }
  if (isBlank(body.body)) report('body', 'must not be empty');
}

/** Headers that have a field of their own. */
function threadRules({ headers, ...body }: Body, report: Report): void {
  const names = new Set(Object.keys(headers ?? {}).map((name) => name.toLowerCase()));
  for (const [field, header] of [
    ['in_reply_to', 'in-reply-to'],
    ['references', 'references'],
  ] as const) {
    if (body[field] !== undefined && names.has(header))
      report(field, 'is among the headers, too; give only one of them');
  }
}

function emailRules(body: Body, report: Report): void {
  const given = (name: string) => body[name] !== undefined;
  for (const { path, text } of ['from', 'from_email', 'reply_to'].flatMap((name) =>
    textsIn(name, body[name]),
  )) {
    if (hasLiquid(text)) report(path, noLiquid('addresses and their names'));
  }
  threadRules(body, report);
  if (isBlank(body.subject)) report('subject', 'must not be empty');
  else if (!given('subject') && !given('template_id')) report('subject', 'is required for email');
  if (given('template_id')) return;
  if (!given('html') && !given('body')) report('html', 'is required unless body or template_id is given');
  const contents = ['html', 'body'].filter(given);
  if (contents.every((name) => isBlank(body[name]))) {
    for (const name of contents) report(name, 'must not be empty');
  }
}

/**
 * Checks the addresses of fields without an error so far. `draftMessage` checks them again, but does not run if the
 * body has errors: without this check, a client would learn of bad addresses only after fixing everything else.
 */
function addressRules(body: Body, wrong: ReadonlySet<unknown>, report: Report): void {
  const right = Object.fromEntries(Object.entries(body).filter(([name]) => !wrong.has(name)));
  const isSms = body.channel === 'sms';
  if (!isSms && body.channel !== 'email') return;
  if (!isSms)
    for (const [path, [error = '']] of Object.entries(recipientsOf(right).errors)) report(path, error);
  const names = isSms ? ['to'] : ['from', 'from_email', 'reply_to'];
  for (const { path, text } of names.flatMap((name) => textsIn(name, right[name]))) {
    const parsed = isSms ? parsePhone(text) : parseEmailAddress(text);
    if ('error' in parsed) report(path, parsed.error);
  }
}

/** Rules between fields. They run even if a field has an error, so that all errors are reported at once. */
export const betweenFields = z.superRefine<unknown>((value, ctx) => {
  if (typeof value !== 'object' || value === null) return;
  const body = value as Body;
  const report: Report = (field, message) => ctx.addIssue({ code: 'custom', path: [field], message });
  if (body.channel === 'sms') smsRules(body, report);
  if (body.channel === 'email') emailRules(body, report);
  if (body.variables !== undefined && body.template_id === undefined)
    report('variables', 'needs a template_id');
  const { issues } = ctx;
  if (issues.length > 0)
    addressRules(body, new Set(issues.map(({ path }) => String(path?.[0]).split('.')[0])), report);
});
betweenFields._zod.def.when = () => true;
