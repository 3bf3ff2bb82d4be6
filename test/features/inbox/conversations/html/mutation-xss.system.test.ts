// In real Chromium without a policy, sanitized HTML runs no script, sends no request, and has only allowed elements.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import {
  allowedAttributes,
  allowedTags,
} from '../../../../../src/features/inbox/conversations/html/rules.ts';
import { sanitize } from '../../../../../src/features/inbox/conversations/html/sanitize.ts';
import { type ChromiumVisit, visit } from '../../../../support/chromium.ts';
import { testsThatNeed } from '../../../../support/tests-that-need.ts';
import { effective, payloads } from './payloads.ts';

const { describe } = testsThatNeed('chromium');

/** What the page reports. */
interface Findings {
  /** Numbers of the payloads whose scripts ran. */
  ran: number[];
  /** Elements, attributes and links that must not be there, by the number of the payload. */
  forbidden: string[];
  shown: number;
}

async function show(samples: readonly string[]): Promise<{ findings: Findings; requests: string[] }> {
  const attributes = Object.values(allowedAttributes).flat();
  const given = [samples, allowedTags, attributes].map((value) =>
    JSON.stringify(value).replaceAll('<', '\\u003c'),
  );
  const script = readFileSync(new URL('show-all.js', import.meta.url), 'utf8');
  const call = `showAll(${given.join(', ')})`;
  const page = `<!doctype html><meta charset=utf-8><title>Mail</title><body><script>${script}\n${call}</script>`;
  const { result, requests }: ChromiumVisit = await visit(page);
  return { findings: result as Findings, requests };
}

describe('the corpus of payloads', () => {
  it('is large, and has no payload twice', () => {
    expect(payloads.length).toBeGreaterThanOrEqual(150);
    expect(new Set(payloads).size).toBe(payloads.length);
  });

  it('neither runs a script nor sends a request once it is sanitized', async () => {
    const clean = payloads.map((payload) => sanitize(payload, new Map()) ?? '');
    const { findings, requests } = await show(clean);
    const named = findings.ran.map((n) => [payloads[n], clean[n]]);
    expect({ ran: named, forbidden: findings.forbidden, requests, shown: findings.shown }).toEqual({
      ran: [],
      forbidden: [],
      requests: [],
      shown: payloads.length,
    });
  });

  it('would be noticed: unchanged payloads run scripts and send requests', async () => {
    const { findings, requests } = await show([...effective.scripts, ...effective.requests]);
    expect(findings.ran.toSorted((one, other) => one - other)).toEqual(effective.scripts.map((_, n) => n));
    const paths = new Set(requests.map((request) => new URL(request.split(' ')[1] ?? '').pathname));
    expect([...paths].sort()).toEqual(expect.arrayContaining(['/a.png', '/b.png', '/c', '/d.css']));
    expect(findings.forbidden.length).toBeGreaterThan(5);
  });
});
