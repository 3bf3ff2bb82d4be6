// Runs of random flows that share clocks take the same paths, with the same effects, as runs with clocks of their own.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Receiver, startReceiver } from '../../../support/https-receiver.ts';
import { scenarios } from '../run/random-flows.ts';
import { type Plan, Twin } from './twin.ts';

const FULL = process.env.CRASH_FULL === '1';
const FLOWS = FULL ? 40 : 6;
const CONTACTS = FULL ? 50 : 20;
const SEED = Number(process.env.FLOWS_SEED ?? Date.now() % 2 ** 31);
const HOUR_MS = 3_600_000;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver({ plain: true });
  receiver.answer = ({ headers }, response) => {
    const isRefused =
      (Number(headers['carillon-contact-id']) + Number(headers['carillon-step-id'])) % 3 === 0;
    response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' }).end('{"a":1}');
  };
});
afterAll(() => receiver.close());

function plansOf(seed: number): Plan[] {
  const flows = fc.sample(scenarios, { seed, numRuns: 4 * FLOWS }).filter(({ steps }) => steps.length > 2);
  const contacts = fc.sample(scenarios, { seed: seed + 1, numRuns: FLOWS * CONTACTS });
  return flows.slice(0, FLOWS).map((flow, n) => ({
    flow,
    goal: n % 3 === 0,
    contacts: contacts.slice(n * CONTACTS, (n + 1) * CONTACTS),
    pause: n % 2 === 0 ? ([(n + 2) * HOUR_MS, (n + 30) * HOUR_MS] as const) : null,
  }));
}

it(
  `take the same paths (FLOWS_SEED=${SEED})`,
  async () => {
    const twins = await Promise.all([false, true].map((shared) => Twin.open(receiver, shared)));
    try {
      const plans = plansOf(SEED);
      const began = new Date();
      await Promise.all(twins.map((twin) => twin.prepare(plans, began)));
      const begun = new Date();
      await Promise.all(twins.map((twin) => twin.run(begun)));
      const [single, shared] = await Promise.all(twins.map((twin) => twin.results()));
      expect(single?.runs?.filter((run) => (run as { state: string }).state === 'active')).toEqual([]);
      expect(single?.path?.length).toBeGreaterThan(FLOWS * CONTACTS);
      for (const [name, rows] of Object.entries(single ?? {})) {
        expect({ [name]: shared?.[name] }).toEqual({ [name]: rows });
      }
    } finally {
      await Promise.all(twins.map((twin) => twin.close()));
    }
  },
  FULL ? 600_000 : 60_000,
);
