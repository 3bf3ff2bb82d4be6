import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { contentFolder, type MailKind, mailerContent } from './mailers.ts';
import { factsOf, type MailFacts } from './stage.ts';

/** A mail as it was submitted, and its copies by recipient as they arrived. */
export interface SentMail {
  given: string;
  arrived: Record<string, string>;
}

const read = (name: string) => readFileSync(`${contentFolder}/${name}`);
const hashOf = (name: string) => createHash('sha256').update(read(name)).digest('hex');
const named = (each: { name: string; address: string }) => [each.name, each.address];

/** What each program was asked to send: so the recordings themselves are as they should be. */
function expectContent(kind: MailKind, facts: MailFacts): void {
  const { subject, to, cc, html, pdfName } = mailerContent;
  const text = mailerContent.text.trimEnd();
  expect(facts).toMatchObject({ subject, to: to.map(named), cc: cc.map(named), bcc: null, defects: [] });
  expect(facts.texts['text/plain']).toEqual([text]);
  if (kind === 'image') {
    const image = facts.files.find(([, type]) => type === 'image/png');
    expect(image?.[3]).toBe(hashOf('logo.png'));
    expect(facts.texts['text/html']).toEqual([
      html.replace('cid:logo@shop.example', `cid:${image?.[2]}`).trimEnd(),
    ]);
  }
  if (kind === 'pdf') {
    const pdf = [pdfName, 'application/pdf', hashOf('invoice.pdf')];
    expect(facts.files.map(([name, type, , hash]) => [name, type, hash])).toEqual([pdf]);
  }
  if (kind === 'invitation') {
    const calendar = read('invitation.ics').toString().replaceAll('\r\n', '\n').trimEnd();
    expect(facts.invitations.map(([method, , text]) => [method, text])).toContainEqual(['REQUEST', calendar]);
  }
}

/** Expects each copy to have what the submitted mail has, as Python's `email` reads both. */
export async function expectEqualMails(sent: Record<MailKind, SentMail>): Promise<void> {
  const mails = Object.entries(sent).flatMap(([kind, { given, arrived }]) => [
    [kind, given],
    ...Object.entries(arrived).map(([to, mail]) => [`${kind} ${to}`, mail]),
  ]);
  const facts = await factsOf(Object.fromEntries(mails) as Record<string, string>);
  for (const [kind, { arrived }] of Object.entries(sent)) {
    const given = facts[kind];
    for (const to of Object.keys(arrived)) expect([to, facts[`${kind} ${to}`]]).toEqual([to, given]);
    expectContent(kind as MailKind, given as MailFacts);
  }
}
