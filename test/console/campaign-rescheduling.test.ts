// A campaign that waits for its time can be sent at another; one that is on its way cannot.
import { expect, it } from '@jest/globals';
import { mayBeMoved } from '../../console/src/pages/campaigns/waiting.ts';

const NOW = Date.UTC(2027, 0, 1);
const LATER = '2027-01-02T00:00:00.000Z';
const BEFORE = '2026-12-31T00:00:00.000Z';

type Campaign = Parameters<typeof mayBeMoved>[0];
const campaign = (status: Campaign['status'], at: string | null, recipients = 0) =>
  ({ status, scheduled_at: at, data: { progress: { audience_count: recipients } } }) as Campaign;

it.each<[string, Campaign, boolean]>([
  ['a campaign that waits for its time', campaign('active', LATER), true],
  ['a paused one without recipients', campaign('paused', null), true],
  ['one that was sent now, and has no recipients yet', campaign('active', null), false],
  ['one whose time has come', campaign('active', BEFORE), false],
  ['one that has recipients', campaign('paused', LATER, 3), false],
  ['a draft', campaign('draft', LATER), false],
])('%s: %#', (_, given, expected) => expect(mayBeMoved(given, NOW)).toBe(expected));
