// The event catalogue contains every event that a feature declares, exactly once.
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { eventTypes } from '../../../src/features/webhooks/catalogue.ts';
import type { EventDefinition } from '../../../src/platform/events/define.ts';

const source = new URL('../../../src/', import.meta.url);

/** Every event declared in the `events.ts` of a feature or of delivery. */
async function declaredEvents(): Promise<EventDefinition[]> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^(delivery\/terms|features\/\w[\w-]*)\/events\.ts$/.test(path),
  );
  const modules = await Promise.all(
    files.map((path) => import(new URL(path, source).href) as Promise<Record<string, unknown>>),
  );
  return modules
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name.endsWith('Events'))
    .flatMap(([, events]) => Object.values(events as Record<string, EventDefinition>));
}

describe('the catalogue of events', () => {
  it('contains every declared event once', async () => {
    const declared = (await declaredEvents()).map(({ type }) => type);
    expect(declared.length).toBeGreaterThan(0);
    expect([...eventTypes].sort()).toEqual(declared.sort());
  });
});
