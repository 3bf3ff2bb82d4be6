// The page of a message offers to cancel exactly what the API would cancel.
import { describe, expect, it } from '@jest/globals';
import { cancelChoices } from '../../console/src/pages/messages/cancel-choices.ts';

type Status = Parameters<typeof cancelChoices>[0]['status'];

const message = (status: Status, campaignId: number | null = null) => ({
  id: 1,
  status,
  campaign_id: campaignId,
  flow_id: null,
});

const letter = (shown: Status, ...others: Status[]) => ({
  ...message(shown),
  recipients: [shown, ...others].map((status, index) => ({
    message_id: index + 1,
    kind: 'to' as const,
    address: null,
    status,
  })),
});

describe('what can be canceled', () => {
  it.each([
    ['a scheduled message', message('scheduled'), ['all']],
    ['a queued message', message('queued'), ['all']],
    ['a held message', message('held'), ['all']],
    ['a message that is being sent', message('sending'), []],
    ['a message that was sent', message('sent'), []],
    ['a message of a campaign', message('held', 7), []],
    ['a letter that waits', letter('scheduled', 'scheduled'), ['all', 'only']],
    ['the last copy that waits, beside a suppressed one', letter('scheduled', 'failed'), ['all']],
    ['a suppressed copy, while others wait', letter('failed', 'scheduled', 'scheduled'), ['all']],
    ['a copy that waits, while another has left', letter('held', 'delivered', 'held'), ['only']],
    ['a copy that has left, while another waits', letter('delivered', 'held'), []],
  ])('of %s', (_, shown, expected) => {
    expect(cancelChoices(shown)).toEqual(expected);
  });
});
