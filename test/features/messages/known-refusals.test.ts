// A refusal for lack of money is repeated for a second, for up to 10,000 accounts.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '../../../src/errors.ts';
import type { MessageDraft } from '../../../src/features/messages/draft.ts';
import { KnownRefusals } from '../../../src/features/messages/known-refusals.ts';
import { eventually } from '../../support/eventually.ts';

const draftOf = (accountId: number, more: Partial<MessageDraft> = {}) =>
  ({ account_id: accountId, channel: 'email', test: false, ...more }) as MessageDraft;
const broke = new AppError('insufficient_funds', 'the wallet has too little');

describe('a refusal for lack of money', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is repeated for a second', async () => {
    let nowMs = 5_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const known = new KnownRefusals();
    known.add(draftOf(1), broke);
    expect([known.find(draftOf(1)), known.find(draftOf(2))]).toEqual([broke, null]);
    nowMs += 999;
    await eventually(() => expect(known.find(draftOf(1))).toBe(broke));
    nowMs += 2;
    await eventually(() => expect(known.find(draftOf(1))).toBeNull());
  });

  it('applies to SMS with as many segments to numbers with the same beginning', () => {
    const known = new KnownRefusals();
    const text = { channel: 'sms', to_key: '+491511234567', segments: 2 } as const;
    known.add(draftOf(1, text), broke);
    expect(known.find(draftOf(1, { ...text, to_key: '+491511299999' }))).toBe(broke);
    for (const other of [{ ...text, segments: 1 }, { ...text, to_key: '+4930901820' }, {}]) {
      expect(known.find(draftOf(1, other))).toBeNull();
    }
  });

  it('is not repeated for test messages, nor if it names a field', () => {
    const known = new KnownRefusals();
    known.add(draftOf(1), broke);
    known.add(draftOf(2), new AppError('validation_error', 'no price'));
    expect([known.find(draftOf(1, { test: true })), known.find(draftOf(2))]).toEqual([null, null]);
  });

  it('is forgotten once its account can pay more', () => {
    const known = new KnownRefusals();
    const text = draftOf(1, { channel: 'sms', to_key: '+491511234567', segments: 2 });
    const drafts = [draftOf(1), text, draftOf(11), draftOf(2)];
    for (const draft of drafts) known.add(draft, broke);
    known.forget([1]);
    expect(drafts.map((draft) => known.find(draft))).toEqual([null, null, broke, broke]);
    known.forget(null);
    expect(drafts.map((draft) => known.find(draft))).toEqual([null, null, null, null]);
  });

  it('is not remembered if an account could pay more before it was known', () => {
    const known = new KnownRefusals();
    const { raises } = known;
    known.forget([2]);
    known.add(draftOf(1), broke, raises);
    expect(known.find(draftOf(1))).toBeNull();
  });

  it('is remembered for 10,000 accounts', () => {
    const known = new KnownRefusals();
    for (let id = 0; id <= 10_000; id += 1) known.add(draftOf(id), broke);
    expect([known.find(draftOf(0)), known.find(draftOf(1))]).toEqual([null, broke]);
  });
});
