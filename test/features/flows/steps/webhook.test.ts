// A webhook step is called outside the transaction, and continues with the response.
import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { advance, begin, email } from '../run/advancing.ts';

describe('a webhook', () => {
  const hook: Step = { type: 'webhook', id: 1, url: 'https://example.com', method: 'POST' };

  it('is called outside until it has a response', async () => {
    const halt = await begin([hook, email(2)]);
    expect(halt).toMatchObject({ halt: 'call', stepId: 1, record: { stepId: 1, wait: { for: 'webhook' } } });
    expect(await advance([hook, email(2)], halt.record)).toMatchObject({ halt: 'call', stepId: 1 });
    const answered = await advance([hook, email(2)], halt.record, { answers: { outcome: 'failed' } });
    expect(answered.context.path).toEqual(['1 failed', '2 sent']);
  });
});
