// Runs of random flows that share clocks take the same paths, with the same effects, as runs with clocks of their own.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { allSteps } from '../../../../src/features/flows/steps/index.ts';
import { type Receiver, startReceiver } from '../../../support/https-receiver.ts';
import { type Scenario, scenarios } from '../run/random-flows.ts';
import { type Plan, Twin } from './twin.ts';

const FULL = process.env.CRASH_FULL === '1';
const FLOWS = FULL ? 40 : 4;
const CONTACTS = FULL ? 50 : 16;
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

/** How often the steps of a flow ask for what differs between its runs. */
const variety = ({ steps }: Scenario) =>
  JSON.stringify(steps).match(/"trigger\.|"step\.|"received\.|"include_since"|"condition"/g)?.length ?? 0;

function plansOf(seed: number): Plan[] {
  const flows = fc
    .sample(scenarios, { seed, numRuns: 20 * FLOWS })
    .filter(({ steps }) => allSteps(steps).length <= 10)
    .sort((one, other) => variety(other) - variety(one));
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
