import { defineWriting } from '../../src/delivery/ledger/accept/write-statement.ts';

/** Writes messages without additions. */
export const plainStatement = defineWriting({
  from: import.meta.url,
  sentBy: 'tests',
  does: 'Writes messages.',
  shapes: [{}, { limited: true }, { tracked: true }],
});
